// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// explained explains invented topics.
func explained(t *testing.T, p *people) {
	t.Helper()
	const page = "https://example.com/findings.md#"
	e := report.NewExplanation([]report.Topic{
		{Kind: report.TopicFinding, Name: "FD998", Title: "Example", Severity: report.Error,
			What: "an object is not as it should be, which takes more than one line to say, because lines have a limit",
			Why:  "This is an invented finding. Its explanation has two sentences.", Evidence: "What was read.",
			Remedy: "Do nothing.", Versions: "all. Later versions too",
			Issues:   []string{"https://example.com/issues/1", "https://example.com/issues/2"},
			Sections: []string{"1.1", "4.2"}, URL: page + "fd998"},
		{Kind: report.TopicFinding, Name: "FD999", Title: "ALongerTitle", Severity: report.Info, What: "another one",
			URL: page + "fd999"},
		{Kind: report.TopicState, Name: "Invented", What: "a state with a \x1b[31mcolour", URL: page +
			"state-invented"},
	}, "test")
	golden.Compare(t, "explanation.json", p.addDocument(t, "explain", printers.Explanation(e, false,
		printers.Options{})))
	p.Add("explain --list", shown(t, "table", printers.Explanation(e, true, printers.Options{})))
	p.Add("explain --list, 60 columns", shown(t, "table", printers.Explanation(e, true,
		printers.Options{Width: 60})))
}
