// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

func TestNextSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		finding report.Finding
		want    []report.Remedy
	}{
		"none":    {report.Finding{}, nil},
		"command": {report.Finding{Remediation: "bin/kubectl-fleetdoctor adopt"}, []report.Remedy{{Command: "bin/kubectl-fleetdoctor adopt"}}},
		"advice":  {report.Finding{Remediation: "restore it"}, []report.Remedy{{Text: "restore it"}}},
		"both":    {report.Finding{Remediation: "x", Remedies: []report.Remedy{{Text: "y", URL: "z"}}}, []report.Remedy{{Text: "y", URL: "z"}}},
	} {
		if diff := cmp.Diff(tc.want, tc.finding.NextSteps()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLines checks that a command comes before its effect, a clause whose subject is the command.
func TestLines(t *testing.T) {
	for _, tc := range []struct {
		remedy report.Remedy
		want   []string
	}{
		{report.Remedy{Command: "kubectl get pods", Text: "lists the Pods"}, []string{"kubectl get pods", "lists the Pods"}},
		{report.Remedy{Command: "kubectl get pods"}, []string{"kubectl get pods"}},
		{report.Remedy{Text: "restore it"}, []string{"restore it"}},
	} {
		if diff := cmp.Diff(tc.want, tc.remedy.Lines()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.remedy, diff)
		}
	}
}
