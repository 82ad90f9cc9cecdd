// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestComparison compares comparisons with their golden files.
func TestComparison(t *testing.T) {
	clean, sick := sample(t, "clean"), sample(t, "sick")
	unread := *clean
	unread.Gaps = []report.Gap{{What: "listing Secrets", Reason: "Forbidden", Effect: "x"}}
	unread.BundleDeployments = append([]report.BundleDeployment{}, clean.BundleDeployments...)
	bd := &unread.BundleDeployments[1]
	bd.State, bd.Reason, bd.Resources = report.Unknown, "Forbidden", nil
	show := func(before, after *report.Audit) printers.Document {
		return printers.Comparison(report.Compare(before, after, "test"), printers.Options{})
	}
	var p people
	p.addDocument(t, "worse", show(clean, sick))
	p.addDocument(t, "some is unknown", show(sick, &unread))
	p.Compare(t, "comparison.txt")

	// The JSON has every field: one bundle gets better, one gets worse, and one is not known any more.
	before, after := *sick, unread
	third := func(a *report.Audit) report.BundleDeployment {
		bd := a.BundleDeployments[1]
		bd.Name = "unread"
		return bd
	}
	before.BundleDeployments = []report.BundleDeployment{sick.BundleDeployments[0], clean.BundleDeployments[1],
		third(clean)}
	after.BundleDeployments = []report.BundleDeployment{clean.BundleDeployments[0], sick.BundleDeployments[1],
		third(&unread)}
	half := len(sick.Findings) / 2
	before.Findings, after.Findings = sick.Findings[:half], sick.Findings[half:]
	golden.Compare(t, "comparison.json", shown(t, "json", show(&before, &after)))
}

// TestComparisonIsGreenOnlyWithoutChange checks the colour of the last line.
func TestComparisonIsGreenOnlyWithoutChange(t *testing.T) {
	ready := func() *report.Audit {
		return &report.Audit{BundleDeployments: []report.BundleDeployment{{Namespace: "one", Name: "a",
			State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}}}}
	}
	for name, change := range map[string]func(*report.Audit){
		"nothing changed": func(*report.Audit) {},
		"a gap":           func(a *report.Audit) { a.Gaps = []report.Gap{{What: "x"}} },
		"only the status": func(a *report.Audit) {
			a.BundleDeployments[0].State, a.BundleDeployments[0].Reason = report.Unknown, "ClusterNotRead"
		},
		"a missing object": func(a *report.Audit) {
			a.BundleDeployments[0].Counts = report.Counts{Desired: 1, Missing: 1}
		},
		"another state":     func(a *report.Audit) { a.BundleDeployments[0].State = report.ErrApplied },
		"everything is new": func(a *report.Audit) { a.BundleDeployments[0].Name = "b" },
	} {
		for _, both := range []bool{true, false} {
			before, after := ready(), ready()
			change(after)
			if both {
				change(before)
			}
			out := shown(t, "table", printers.Comparison(report.Compare(before, after, ""),
				printers.Options{Colour: true}))
			lines := strings.Split(strings.TrimSpace(out), "\n")
			read := name == "a missing object" || name == "another state" || name == "everything is new"
			if green := strings.Contains(lines[len(lines)-1], "\x1b[32m"); green != (name == "nothing changed" ||
				both && read) {
				t.Errorf("%s, both %v: green %v:\n%s", name, both, green, out)
			}
		}
	}
}
