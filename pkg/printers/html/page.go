// SPDX-License-Identifier: Apache-2.0

package html

import (
	"html/template"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// page is what the layout shows.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	*report.Audit
	Title, Totals string
	Facts         []string
	Level         digest.Level
	Verdict       string
	Objects       bar
	Unread        int
	Aggregates    []aggregates
	Deployments   deployments
	// Problems are the first problems, Folded those that are folded. MoreProblems counts those that are not shown.
	Problems, Folded []problem
	MoreProblems     int
	Clusters         []string // of findings: the filter names them by their place
	Codes            []string
}

// aggregates are the aggregates of one kind.
type aggregates struct {
	Kind string
	Rows []digest.Aggregate
	// Well are the rows without a problem, if there are many.
	Well []digest.Aggregate
}

// manyWell is the number of aggregates without a problem above which they are folded.
const manyWell = 10

func newPage(a *report.Audit) *page {
	p := &page{Policy: policy(), Style: template.CSS(style), Script: template.JS(script),
		Audit: a, Title: digest.Title(&a.Source), Facts: digest.Facts(a), Totals: digest.Totals(a),
		Unread: a.WithoutResult(), Deployments: newDeployments(a)}
	p.Level, p.Verdict = digest.Verdict(a)
	p.Objects = actualBar(a.Summary.Counts, p.Unread == len(a.BundleDeployments))
	p.aggregate()
	var of places
	p.Clusters, p.Codes, of = filters(a)
	p.Problems, p.MoreProblems = problems(a, of)
	if len(p.Problems) > firstProblems {
		p.Problems, p.Folded = p.Problems[:firstProblems], p.Problems[firstProblems:]
	}
	return p
}

// tile is the number of findings of a severity.
type tile struct {
	Severity report.Severity
	N        int
}

// Noun is the word after the number.
func (t tile) Noun() string {
	switch {
	case t.Severity == report.Info:
		return "informational"
	case t.N == 1:
		return string(t.Severity)
	}
	return string(t.Severity) + "s"
}

// aggregate adds the aggregates of each kind.
func (p *page) aggregate() {
	for _, x := range digest.Aggregates(p.Audit) {
		if len(p.Aggregates) == 0 || p.Aggregates[len(p.Aggregates)-1].Kind != x.Kind {
			p.Aggregates = append(p.Aggregates, aggregates{Kind: x.Kind})
		}
		of := &p.Aggregates[len(p.Aggregates)-1]
		of.Rows = append(of.Rows, x)
	}
	for i := range p.Aggregates {
		of := &p.Aggregates[i]
		at := slices.IndexFunc(of.Rows, digest.Aggregate.Well)
		if at >= 0 && len(of.Rows)-at > manyWell {
			of.Rows, of.Well = of.Rows[:at], of.Rows[at:]
		}
	}
}
