// SPDX-License-Identifier: Apache-2.0

// Package view has the flags that select what of a result is shown, and how. They do not change what is read.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/flags"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Filter mirrors the flags that select findings. Make it with NewFilter.
type Filter struct {
	severity *flags.Enum
	codes    []string
}

// NewFilter returns the flags, which select all findings.
func NewFilter() *Filter {
	return &Filter{severity: flags.NewEnum("", string(report.Info), string(report.Warning), string(report.Error))}
}

// AddFlags adds the flags to a command.
func (f *Filter) AddFlags(c *cobra.Command) {
	f.severity.AddTo(c, "severity", "Show only findings of this severity or above")
	c.Flags().StringSliceVar(&f.codes, "code", nil, "Show only findings with these codes, such as FD104. May be repeated, or a list with commas")
	_ = c.RegisterFlagCompletionFunc("code", completeCodes) // the flag exists
}

// ToFilter parses the flags. Codes may be in lower case.
func (f *Filter) ToFilter() (report.Filter, error) {
	out := report.Filter{Severity: report.Severity(f.severity.String())}
	for _, code := range f.codes {
		known := strings.ToUpper(strings.TrimSpace(code))
		if !slices.ContainsFunc(check.Catalogue(), func(c check.Check) bool { return c.Code == known }) {
			return out, fmt.Errorf("invalid --code %q: %s", code, suggestion(known))
		}
		out.Codes = append(out.Codes, known)
	}
	slices.Sort(out.Codes)
	out.Codes = slices.Compact(out.Codes)
	return out, nil
}

// maxSuggested is the number of codes that an error suggests, maxDistance the largest number of letters by which they differ from what the user wrote.
const maxSuggested, maxDistance = 3, 2

// suggestion returns the codes, and the names of codes, that are most similar to a word.
func suggestion(word string) string {
	type candidate struct {
		distance int
		text     string
	}
	var found []candidate
	for _, c := range check.Catalogue() {
		if d := min(distance(word, c.Code), distance(word, strings.ToUpper(c.Name))); d <= maxDistance {
			found = append(found, candidate{d, c.Code + " (" + c.Name + ")"})
		}
	}
	if len(found) == 0 {
		return "there is no such code; docs/findings.md lists the codes"
	}
	slices.SortStableFunc(found, func(x, y candidate) int { return cmp.Compare(x.distance, y.distance) })
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.distance > found[0].distance })
	var texts []string
	for _, c := range found[:min(len(found), maxSuggested)] {
		texts = append(texts, c.text)
	}
	return "there is no such code; did you mean " + strings.Join(texts, " or ") + "?"
}

// distance is the number of letters by which two words differ: 1 if the letters are the same in another order.
func distance(a, b string) int {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) && a != b {
		return 1
	}
	return levenshtein.ComputeDistance(a, b)
}

// completeCodes completes a list of codes in a shell, with their titles.
func completeCodes(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var out []string
	for _, c := range check.Catalogue() {
		out = append(out, cobra.CompletionWithDesc(before+c.Code, c.Title))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
