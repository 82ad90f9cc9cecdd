// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// addCount adds a number of objects in a state.
func addCount(c *report.Counts, s report.State, n int) {
	of := map[report.State]*int{report.Ready: &c.Ready, report.Missing: &c.Missing, report.Unowned: &c.Unowned,
		report.Modified: &c.Modified, report.NotReady: &c.NotReady, report.Orphaned: &c.Orphaned,
		report.Unknown: &c.Unknown}[s]
	if of != nil {
		*of += n
	}
}

// addDesired sets the number of desired objects that Fleet reports. It reports this number only with all others, of
// which those that are 0 are not asked for.
func addDesired(r *report.Reported, n int) {
	r.DesiredReady = &n
	for _, x := range []**int{&r.Ready, &r.Missing, &r.Modified, &r.NotReady, &r.Orphaned} {
		if *x == nil {
			*x = new(int)
		}
	}
}

// addReported sets a number of objects that Fleet reports.
func addReported(r *report.Reported, s report.State, n int) {
	of := map[report.State]**int{report.Ready: &r.Ready, report.Missing: &r.Missing, report.Modified: &r.Modified,
		report.NotReady: &r.NotReady, report.Orphaned: &r.Orphaned}[s]
	if of != nil {
		*of = &n
	}
}
