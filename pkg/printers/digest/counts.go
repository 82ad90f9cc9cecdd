// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// readyObjects is the number of ready objects, and otherObjects those of the others by their state.
func readyObjects(c report.Counts) string {
	return fmt.Sprintf("%d of %s ready", c.Ready, report.Plural(c.Desired, "object"))
}

func otherObjects(c report.Counts) string {
	if others := NotReady(c); others != "" {
		return ": " + others
	}
	return ""
}

// NotReady is the number of objects in each state but Ready; empty if there are none.
func NotReady(c report.Counts) string {
	return strings.Join(NonEmpty(Tally(c.Missing, "missing"), Tally(c.Unowned, "unowned"),
		Tally(c.Modified, "modified"), Tally(c.NotReady, "not ready"), Tally(c.Orphaned, "orphaned"),
		Tally(c.Unknown, "unknown")), ", ")
}

// Tally is a number with the words for it; empty for 0.
func Tally(n int, words string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, words)
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
