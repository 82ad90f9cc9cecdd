// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var leftoverRelease = Check{
	Code: "FD606", Name: "LeftoverRelease", Severity: Warning,
	Title: "a Helm release of Fleet's without a BundleDeployment",
	Explain: "The agent uninstalls such releases, one each cycle, unless it cannot: the record of a bundle deleted with keepResources and a custom release name " +
		"stays for ever and blocks the name.",
	run: func(in *Input) []Finding {
		if !in.Whole {
			return nil
		}
		var out []Finding
		for _, r := range leftovers(in.Desired) {
			f := Finding{
				Object: resolve.SecretRef(r.Name),
				Message: fmt.Sprintf("release %s was made by Fleet for %q (agent in %s), and no BundleDeployment has it",
					r.Release(), r.BundleID, r.AgentNamespace),
				Remediation: in.Commands.Helm + inNamespace(r.Namespace) + " status " + shellescape.Quote(r.Name.Name),
			}
			if r.KeepResources {
				f.Evidence = []string{"it was deployed with keepResources: its objects are to stay, the record alone is left over"}
			}
			out = append(out, f)
		}
		return out
	},
}

func leftovers(desired *resolve.DesiredState) []*state.Record {
	var out []*state.Record
	for _, c := range desired.Clusters {
		out = append(out, c.Leftovers...)
	}
	return out
}
