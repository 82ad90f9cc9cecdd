// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestHiddenFindings checks that the table counts the findings that a filter leaves out, and that a report without
// visible findings does not look like one without problems.
func TestHiddenFindings(t *testing.T) {
	a := &report.Audit{BundleDeployments: []report.BundleDeployment{ofCluster("", "app")}, Findings: []report.Finding{
		{Code: "FD101", Severity: report.Error, Message: "one"}, {Code: "FD104", Severity: report.Warning,
			Message: "two"}, {Code: "FD108", Severity: report.Info, Message: "three"}}}
	for _, tc := range []struct {
		filter report.Filter
		shown  []string
		last   string
		green  bool
	}{
		{report.Filter{Severity: report.Error}, []string{"one"},
			"1 error. 2 findings hidden by --severity=error: 1 warning, 1 informational.", false},
		{report.Filter{Severity: report.Info}, []string{"one", "two", "three"}, "1 error, 1 warning, 1 informational.",
			false},
		{report.Filter{Codes: []string{"FD108"}}, []string{"three"},
			"No errors or warnings among the selected findings, 1 informational. " +
				"2 findings hidden by --code=FD108: 1 error, 1 warning.", false},
		{report.Filter{Codes: []string{"FD110", "FD111"}}, nil,
			"No errors or warnings among the selected findings. 3 findings hidden by --code=FD110,FD111: 1 error, 1 " +
				"warning, 1 informational.", false},
	} {
		got := show(t, finished(a).Filtered(tc.filter), "table", printers.Options{Colour: true})
		for _, message := range []string{"one", "two", "three"} {
			if want := strings.Contains(strings.Join(tc.shown, " "), message); strings.Contains(got, message) != want {
				t.Errorf("%+v: finding %s is shown: %v", tc.filter, message, !want)
			}
		}
		_, last, _ := strings.Cut(resultOf(escapes.ReplaceAllString(got, "")), "1 of 1 object ready in ")
		if last = strings.Join(strings.Fields(last), " "); last != "1 bundle deployment. "+tc.last ||
			showsGreen(got) != tc.green {
			t.Errorf("%+v: the result is %q, green: %v", tc.filter, last, showsGreen(got))
		}
	}
	none := &report.Audit{BundleDeployments: []report.BundleDeployment{ofCluster("", "app")}}
	if got := show(t, finished(none).Filtered(report.Filter{Severity: report.Error}), "table",
		printers.Options{Colour: true}); !showsGreen(got) {
		t.Errorf("a report without findings does not end in green:\n%s", got)
	}
}
