// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Filter mirrors the flags that select findings. Make it with NewFilter.
type Filter struct {
	severity *cli.Enum
	codes    []string
	since    Since
}

// NewFilter returns the flags, which select all findings.
func NewFilter() *Filter {
	return &Filter{severity: cli.NewEnum("", string(report.Info), string(report.Warning), string(report.Error))}
}

// AddFlags adds the flags to a command.
func (f *Filter) AddFlags(c *cobra.Command) {
	f.severity.AddTo(c, "severity", "Show only findings of this severity or above")
	c.Flags().StringSliceVar(&f.codes, "code", nil,
		"Show only findings with these codes or names, such as FD104 or Modified. May be repeated, or a list with "+
			"commas")
	_ = c.RegisterFlagCompletionFunc("code", completeCodes) // the flag exists
	c.Flags().Var(&f.since, "since", "Hide findings whose recorded change is older than a duration, such as 2h or 3d, "+
		"before the data was taken, or older than a time (RFC 3339)")
}

// ToFilter parses the flags, except --since, which depends on the time of the report. A code may be in lower case, and
// the name of a finding stands for its code, as in the verb explain.
func (f *Filter) ToFilter() (report.Filter, error) {
	codes, err := Codes(f.codes)
	return report.Filter{Severity: report.Severity(f.severity.String()), Codes: codes}, err
}

// Codes returns the codes that the values of --code stand for, sorted.
func Codes(values []string) ([]string, error) {
	var out []string
	for _, code := range values {
		word := strings.TrimSpace(code)
		at := slices.IndexFunc(check.Catalogue(), func(c check.Check) bool {
			return strings.EqualFold(c.Code, word) || strings.EqualFold(c.Name, word)
		})
		if at < 0 {
			return nil, fmt.Errorf("invalid --code %q: %s", code, suggestion(word))
		}
		out = append(out, check.Catalogue()[at].Code)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Since returns the time of --since (RFC 3339) for a report that was taken at a time; "" without the flag.
func (f *Filter) Since(takenAt string) (string, error) { return f.since.Begin(takenAt) }

// suggestion asks whether the user meant one of the codes that are most similar to a word, by their number or their
// name. All codes begin with the same letters, so that only the digits are compared.
func suggestion(word string) string {
	const letters = "FD"
	number := strings.TrimPrefix(strings.ToUpper(word), letters)
	var numbers, names, texts []string
	shown := map[string]string{}
	for _, c := range check.Catalogue() {
		digits := strings.TrimPrefix(c.Code, letters)
		numbers, names = append(numbers, digits), append(names, c.Name)
		shown[digits], shown[c.Name] = c.Code+" ("+c.Name+")", c.Code+" ("+c.Name+")"
	}
	near := append(cli.Nearest(number, numbers), cli.Nearest(word, names)...)
	if shown[number] != "" {
		near = []string{number}
	}
	for _, n := range near {
		texts = append(texts, shown[n])
	}
	if len(texts) == 0 {
		return "there is no such code; kubectl fleetdoctor explain lists the codes"
	}
	return "there is no such code; did you mean " + strings.Join(texts, " or ") + "?"
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
