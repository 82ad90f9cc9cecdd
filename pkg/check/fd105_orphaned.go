// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var orphaned = Check{
	Code: "FD105", Name: "Orphaned", Severity: report.Warning,
	Title: "the object was in an earlier revision of the bundle and is desired no more",
	Explain: "It still carries the bundle's hash. Usually helm.sh/resource-policy: keep kept it. Fleet reports it as extra only while its kind is still in the " +
		"manifest and the revision before is recorded; nothing will ever delete it.",
	run: func(c *Case) []report.Finding {
		var out []report.Finding
		for _, d := range c.Deployments {
			for _, m := range Orphans(d.Deployment, c.Marked) {
				f := report.Finding{
					Object: m.Ref, Cluster: d.Cluster, BundleDeployment: d.Key(),
					Message:     fmt.Sprintf("%s is left over from an earlier revision of release %s", m.Key(), d.Release.Release()),
					Remediation: fmt.Sprintf("%s delete %s", c.Commands.kubectl(m.Ref), kubectlName(m.Ref)),
				}
				if _, still := d.Recorded[m.Key()]; still {
					f.Message = fmt.Sprintf("%s is in release %s and no more in the bundle: the next deploy deletes it", m.Key(), d.Release.Release())
					f.Remediation = ""
				}
				out = append(out, f)
			}
		}
		return out
	},
}

// Orphans picks the marked objects that are left over from earlier revisions of a deployment.
func Orphans(d *inventory.Deployment, marked []Marked) []Marked {
	var out []Marked
	for _, m := range marked {
		if m.Metadata.Hash == d.Ownership.Hash && isOrphan(d, m) {
			out = append(out, m)
		}
	}
	return out
}

// isOrphan says whether a marked object of a deployment's set was in an earlier revision. Fleet asks only the revision
// before, and by kind and name alone. Where that revision is not recorded any more, Helm's own marks prove the object came with the release:
// a controller's child copies labels, it does not carry the release's annotations without an owner.
func isOrphan(d *inventory.Deployment, m Marked) bool {
	k := inventory.KindName{Kind: m.Kind, Name: m.Name}
	if m.NoPrune || d.Problem != "" || d.Hooks[k] {
		return false
	}
	return d.Earlier[k] || !d.EarlierKnown && !m.Controlled && madeBy(m.Metadata, d)
}

func madeBy(have ownership.Metadata, d *inventory.Deployment) bool {
	return have.ReleaseName != "" && have.Release() == d.Release.Release()
}
