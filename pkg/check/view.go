// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// share is a number of ready ones and a number of desired ones.
type share struct{ ready, desired int }

func (s share) String() string { return fmt.Sprintf("%d/%d", s.ready, s.desired) }

func shareOf(c v1alpha1.ResourceCounts) share { return share{c.Ready, c.DesiredReady} }

func shareOfSummary(s v1alpha1.Summary) share { return share{s.Ready, s.DesiredReady} }

// inWords returns the counts of the objects that are not ready, in parentheses; empty if all are ready.
func inWords(c v1alpha1.ResourceCounts) string {
	var out []string
	for _, n := range []struct {
		n    int
		word string
	}{{c.Missing, "missing"}, {c.Modified, "modified"}, {c.NotReady, "not ready"}, {c.WaitApplied, "waiting"}, {c.Unknown, "unknown"}} {
		if n.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// detailed returns the share of ready objects, with the counts of the others.
func detailed(c v1alpha1.ResourceCounts) string { return shareOf(c).String() + inWords(c) }
