// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// listed is the maximum length of the lists in a status.
const listed = 10

var truncated = Check{
	Code: "FD207", Name: "Truncated", Severity: Info,
	Title: "the status list is truncated at ten objects",
	Explain: "Fleet truncates the lists of modified objects and of objects that are not ready at ten entries. It then sets incompleteState, and never resets it, " +
		"even if the lists are complete again. Versions before 0.12 truncate the lists but do not set it.",
	run: func(in *Input) []Finding {
		var out []Finding
		for _, d := range in.Deployments {
			if d.BD == nil {
				continue
			}
			s := d.BD.Status
			longest := max(len(s.ModifiedStatus), len(s.NonReadyStatus))
			if longest < listed || s.ResourceCounts != nil && !s.IncompleteState {
				continue
			}
			total, known := listable(d)
			if known && total <= longest && s.ResourceCounts != nil {
				continue // it was truncated once, and is complete again
			}
			of := "an unknown number"
			if known && total > longest {
				of = strconv.Itoa(total)
			}
			f := onDeployment(d)
			f.Message = fmt.Sprintf("the status of %s lists %d objects of %s", d.Key(), longest, of)
			out = append(out, f)
		}
		return out
	},
}

// listable returns the length of the longer of the two lists if it were complete.
func listable(d *evaluate.BundleDeployment) (n int, known bool) {
	c, known := fleetCounts(d)
	return max(c.Missing+c.Modified+c.Orphaned, c.NotReady), known
}
