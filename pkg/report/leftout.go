// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// The reasons for which a report does not list findings.
const (
	ByFilter     = "filter"
	ByIgnoreFile = "ignored"
)

// LeftOut is a number of findings that a report does not list. They may be problems.
type LeftOut struct {
	By    string
	Count int
	// Text has the number and the reason, without a period.
	Text string
}

// LeftOut returns the numbers of findings that the report does not list.
func (a *Audit) LeftOut() []LeftOut {
	var out []LeftOut
	add := func(by string, n int, text string) {
		out = append(out, LeftOut{by, n, Plural(n, "finding") + " " + text})
	}
	if f := a.Filter; f.Hides() {
		add(ByFilter, f.Hidden.Total(), fmt.Sprintf("hidden by %s: %s", f, f.Hidden))
	}
	if n := a.Summary.Ignored; n > 0 {
		text := "ignored"
		if a.IgnoreFile != "" {
			text += " by " + a.IgnoreFile
		}
		add(ByIgnoreFile, n, text)
	}
	return out
}

// String returns the flags of the filter.
func (f *Filter) String() string {
	var out []string
	if f.Severity != "" {
		out = append(out, "--severity="+string(f.Severity))
	}
	if len(f.Codes) > 0 {
		out = append(out, "--code="+strings.Join(f.Codes, ","))
	}
	if f.Since != "" {
		out = append(out, "--since="+f.Since)
	}
	return strings.Join(out, " ")
}

// String lists the numbers that are not 0.
func (c FindingCounts) String() string {
	var out []string
	if c.Error > 0 {
		out = append(out, Plural(c.Error, "error"))
	}
	if c.Warning > 0 {
		out = append(out, Plural(c.Warning, "warning"))
	}
	if c.Info > 0 {
		out = append(out, fmt.Sprintf("%d informational", c.Info))
	}
	return strings.Join(out, ", ")
}

// Why is the reason of the entry, with the last day on which it applies.
func (i *Ignored) Why() string {
	if i.Expires == "" {
		return i.Reason
	}
	return i.Reason + " (until " + i.Expires + ")"
}
