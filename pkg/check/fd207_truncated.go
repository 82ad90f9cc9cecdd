// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strconv"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// listed is how many entries Fleet keeps of the lists in a status.
const listed = 10

var truncated = Check{
	Code: "FD207", Name: "Truncated", Severity: Info,
	Title: "the status lists ten objects of more",
	Explain: "Fleet cuts the lists of modified and of not ready objects at ten and keeps saying incompleteState for as long as the BundleDeployment lives, " +
		"also once the lists are short again. Before 0.12 it cut them without saying so.",
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
				continue // it was cut once, and holds all of them again
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

// listable is how many objects the longer of the two lists would hold if it held all.
func listable(d *evaluate.BundleDeployment) (n int, known bool) {
	c, known := inFleetsTerms(d)
	return max(c.Missing+c.Modified+c.Orphaned, c.NotReady), known
}
