// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

var abandoned = Check{
	Code: "FD106", Name: "Abandoned", Severity: Warning,
	Title: "the object is marked by a set that no release on this cluster has",
	Explain: "Its bundle was deleted with keepResources, renamed, or deployed by an agent of another scope. Fleet reports such objects nowhere, and nothing will " +
		"delete them. Sets of Fleet's own and sets that have an owner are left out.",
	run: func(in *Input) []Finding {
		if !in.Whole {
			return nil
		}
		var out []Finding
		for _, m := range in.Undesired {
			if !m.On.SetsComplete || len(m.On.Sets[m.Metadata.Hash]) > 0 || !abandonedByAgent(m) {
				continue // a set that was not read cannot be told from one that is gone
			}
			out = append(out, Finding{
				Object:      m.Ref,
				Message:     fmt.Sprintf("%s belongs to set %q, which no release on this cluster has", m.Key(), m.Metadata.SetID),
				Evidence:    leftMarks(m),
				Remediation: fmt.Sprintf("%s get %s -o yaml", in.Commands.kubectl(m.Ref), kubectlName(m.Ref)),
			})
		}
		return out
	},
}

func abandonedByAgent(m evaluate.Undesired) bool {
	switch {
	case m.Metadata.SetHasOwner || fleet.IsFleetsOwnSet(m.Metadata.SetID):
		return false
	case m.Metadata.SetID == "": // the id was lost; only Helm's marks can still say where it came from
		return !m.Controlled && m.Metadata.ReleaseName != "" && !m.On.Releases[m.Metadata.Release()]
	}
	return fleet.IsBundleSet(m.Metadata.SetID) && len(m.On.Sets[fleet.Hash(m.Metadata.SetID)]) == 0
}

func leftMarks(m evaluate.Undesired) []string {
	out := []string{fmt.Sprintf("label %s=%s", fleet.HashLabel, m.Metadata.Hash)}
	if m.Metadata.ReleaseName != "" {
		out = append(out, "Helm's marks name release "+m.Metadata.Release())
	}
	return out
}
