// SPDX-License-Identifier: Apache-2.0

package printers

import (
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
func (t text) remedies(indent string, remedies []report.Remedy) {
	rest := indent + "  "
	for _, r := range remedies {
		effect := r.Text
		if len(remedies) > 1 || r.Command != "" {
			if t.said[r.Text] {
				effect = ""
			}
			t.said[r.Text] = true
		}
		if r.Command != "" {
			t.line(indent + t.faint("→ ") + printable(r.Command))
			t.painted(rest, faint, effect)
		} else if effect != "" {
			t.line(indent + t.faint("→ ") + t.block(effect, len(rest), len(rest)))
		}
	}
}
