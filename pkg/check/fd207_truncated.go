// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

var truncated = Check{
	Code: "FD207", Name: "Truncated", Severity: Info,
	Title: "the status list is truncated at ten objects",
	run: func(in *Input, report func(Finding)) {
		for _, d := range in.Deployments {
			if d.BD == nil {
				continue
			}
			s := d.BD.Status
			longest := max(len(s.ModifiedStatus), len(s.NonReadyStatus))
			c, known := in.fleetCounts(d)
			total := max(c.Missing+c.Modified+c.Orphaned, c.NotReady)
			switch {
			case longest < fleet.MaxListed || s.ResourceCounts != nil && !s.IncompleteState:
			case known && total > longest:
				report(in.shortened(d, "the status of %s lists %d objects of %d", d.Key(), longest, total))
			case !known || s.ResourceCounts == nil: // otherwise it was truncated once, and is complete again
				report(in.shortened(d, "the status of %s lists %d objects of an unknown number", d.Key(), longest))
			}
		}
	},
}

// shortened returns the finding about a status with a truncated list.
func (in *Input) shortened(d *evaluate.BundleDeployment, format string, args ...any) Finding {
	f := onDeployment(d, format, args...)
	f.Remedies = []remedy.Remedy{remedy.Run(in.Commands.Audit+" "+in.Commands.BundleArgs(&d.Deployment)+" -o wide",
		"lists all of the objects that the audit read")}
	return f
}
