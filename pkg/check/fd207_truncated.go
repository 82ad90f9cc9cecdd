// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

func (in *pass) truncated(d *evaluate.BundleDeployment) {
	if d.BD == nil {
		return
	}
	s := d.BD.Status
	longest := max(len(s.ModifiedStatus), len(s.NonReadyStatus))
	if longest < fleet.MaxListed || s.ResourceCounts != nil && !s.IncompleteState {
		return
	}
	of := "an unknown number"
	c, known := in.fleetCounts(d)
	total := max(c.Missing+c.Modified+c.Orphaned, c.NotReady)
	switch {
	case known && total > longest:
		of = strconv.Itoa(total)
	case known && s.ResourceCounts != nil:
		return // it was truncated once, and is complete again
	}
	f := onDeployment(d, "the status of %s lists %d objects of %s", d.Key(), longest, of)
	in.report(f, remedy.Run(in.Commands.Audit+" "+in.Commands.BundleArgs(&d.Deployment)+" -o wide",
		"lists all of the objects that the audit read"))
}
