// SPDX-License-Identifier: Apache-2.0

package output

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// filter parses a command line.
func filter(t *testing.T, args ...string) (report.Filter, error) {
	t.Helper()
	f := NewFilter()
	c := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return nil
	}}
	f.AddFlags(c)
	c.SetArgs(args)
	if err := c.Execute(); err != nil {
		return report.Filter{}, err
	}
	return f.ToFilter()
}

// TestFilter checks lists of codes: repeated, with commas, in lower case, by their names.
func TestFilter(t *testing.T) {
	for _, tc := range []struct {
		args     string
		severity report.Severity
		codes    []string
	}{
		{"", "", nil},
		{"--severity=warning", report.Warning, nil},
		{"--code missing,FD104", "", []string{"FD101", "FD104"}},
		{"--code FD104 --code fd101,FD104", "", []string{"FD101", "FD104"}},
	} {
		got, err := filter(t, strings.Fields(tc.args)...)
		if err != nil || got.Severity != tc.severity || !slices.Equal(got.Codes, tc.codes) {
			t.Errorf("%q: %+v, error %v", tc.args, got, err)
		}
	}
}

// TestWrongFilter checks which codes an error suggests.
func TestWrongFilter(t *testing.T) {
	for wrong, want := range map[string]string{"FD140": "FD104", "FD1044": "FD104", "modifed": "FD104", "104": "FD104",
		"FD999": "explain lists the codes", "": "explain lists the codes"} {
		if _, err := filter(t, "--code", wrong+","); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v, want %s", wrong, err, want)
		}
	}
	if _, err := filter(t, "--severity", "fatal"); err == nil || !strings.Contains(err.Error(), "warning") {
		t.Errorf("an unknown severity: %v", err)
	}
}

// TestNames checks that a name or a code, in any case, means one finding.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range check.Catalogue() {
		for _, word := range []string{strings.ToLower(c.Code), strings.ToLower(c.Name)} {
			if seen[word] {
				t.Errorf("%s means two findings", word)
			}
			seen[word] = true
		}
	}
}

// TestCompletion checks that the completion keeps the codes that are typed.
func TestCompletion(t *testing.T) {
	got, _ := completeCodes(nil, nil, "FD101,FD")
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "FD101,FD104\t") }) {
		t.Errorf("%q", got)
	}
}
