// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

func (in *Input) truncated(out *found, d *evaluate.BundleDeployment) {
	if d.BD == nil {
		return
	}
	lists := in.truncation(d)
	if lists == "" {
		return
	}
	f := onDeployment(d, "the status of %s %s", d.Key(), lists)
	out.report(f, remedy.Run(in.Steps.Commands.Audit+" "+in.Steps.Commands.BundleArgs(&d.Deployment)+" -o wide",
		"lists all of the objects that the audit read"))
}

// truncation is how many of its objects the status of a bundle deployment lists, as the end of a sentence; empty if its
// lists are complete.
func (in *Input) truncation(d *evaluate.BundleDeployment) string {
	s := d.BD.Status
	longest := max(len(s.ModifiedStatus), len(s.NonReadyStatus))
	if longest < fleet.MaxListed || s.ResourceCounts != nil && !s.IncompleteState {
		return ""
	}
	of := "an unknown number"
	c, known := in.fleetCounts(d)
	total := max(c.Missing+c.Modified+c.Orphaned, c.NotReady)
	switch {
	case known && total > longest:
		of = strconv.Itoa(total)
	case known && s.ResourceCounts != nil:
		return "" // it was truncated once, and is complete again
	}
	return fmt.Sprintf("lists %d objects of %s", longest, of)
}
