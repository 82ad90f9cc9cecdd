// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// sameRemedies reports whether remedies are shown alike: findings with different codes have different addresses.
func sameRemedies(x, y []report.Remedy) bool {
	return slices.EqualFunc(x, y, func(a, b report.Remedy) bool { return a.Command == b.Command && a.Text == b.Text })
}

// ownRemedies returns the remedies of a finding that are shown before the next finding. The others are shown after it,
// because it has them too: all of them, or some of them if it has the same code.
func ownRemedies(code string, remedies []report.Remedy, nextCode string, next []report.Remedy) []report.Remedy {
	if code != nextCode && !sameRemedies(remedies, next) {
		return remedies
	}
	return slices.DeleteFunc(slices.Clone(remedies), func(r report.Remedy) bool {
		return slices.ContainsFunc(next, func(n report.Remedy) bool {
			return sameRemedies([]report.Remedy{r}, []report.Remedy{n})
		})
	})
}

// remedies shows ways to proceed: each command with its effect below it, or a sentence. A command is not wrapped, so
// that it can be copied. An effect that was shown is not repeated.
func (t text) remedies(b *bytes.Buffer, indent string, remedies []report.Remedy) {
	const arrow = "→ "
	rest := indent + "  "
	for _, r := range remedies {
		lines := t.lines(r.Text, len(rest), len(rest))
		if len(remedies) > 1 || r.Command != "" {
			if t.said[r.Text] {
				lines = nil
			}
			t.said[r.Text] = true
		}
		if r.Command != "" {
			fmt.Fprintf(b, "%s%s%s\n", indent, t.faint(arrow), printable(r.Command))
		}
		for i, line := range lines {
			switch {
			case r.Command != "":
				fmt.Fprintln(b, rest+t.faint(line))
			case i == 0:
				fmt.Fprintln(b, indent+t.faint(arrow)+line)
			default:
				fmt.Fprintln(b, rest+line)
			}
		}
	}
}
