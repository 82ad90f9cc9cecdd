// SPDX-License-Identifier: Apache-2.0

package digest

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"

// Causes are the findings of a report by their identities.
type Causes map[string]*report.Finding

// NewCauses returns the findings of an audit by their identities.
func NewCauses(a *report.Audit) Causes {
	out := Causes{}
	for i := range a.Findings {
		out.add(&a.Findings[i])
	}
	return out
}

func (c Causes) add(f *report.Finding) {
	c[f.ID] = f
	for _, id := range f.IDs {
		c[id] = f
	}
}

// Of returns the finding from which another one follows; nil if it follows from none of these.
func (c Causes) Of(f *report.Finding) *report.Finding {
	if f.CausedBy == nil {
		return nil
	}
	return c[f.CausedBy.ID]
}

// Covers reports whether a finding follows from another one that is at least as severe. A format may then show it as
// less severe than it is, because the cause is shown.
func (c Causes) Covers(f *report.Finding) bool {
	cause := c.Of(f)
	return cause != nil && cause.Severity.Compare(f.Severity) <= 0
}

// Text says from which finding another one follows; empty if it follows from none of these.
func (c Causes) Text(f *report.Finding) string {
	cause := c.Of(f)
	if cause == nil {
		return ""
	}
	return "follows from " + cause.Code + ": " + cause.Message
}
