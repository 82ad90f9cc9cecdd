// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Step is the verb of this program with which a user proceeds after a finding: that of its first remedy with a command
// of this program. Without one, it is the verb that explains the finding. An audit has an option that tells it from the
// one that was made.
func Step(f *report.Finding) string {
	for _, r := range f.NextSteps() {
		if verb := verbOf(r.Command); verb != "" {
			return verb
		}
	}
	return "explain"
}

// Repairable reports whether a finding has a remedy that repairs it.
func Repairable(f *report.Finding) bool {
	return slices.ContainsFunc(f.NextSteps(), func(r report.Remedy) bool { return verbOf(r.Command) == "repair" })
}

// verbOf is the verb of a command of this program; empty for another program.
func verbOf(command string) string {
	rest, ours := strings.CutPrefix(command, "kubectl fleetdoctor ")
	words := strings.Fields(rest)
	switch n := len(words); {
	case !ours || n == 0:
		return ""
	case words[0] != "audit":
		return words[0]
	case strings.HasPrefix(words[n-1], "--"):
		return "audit " + words[n-1]
	case n > 2 && words[n-2] == "-o":
		return "audit -o " + words[n-1]
	}
	return words[0]
}
