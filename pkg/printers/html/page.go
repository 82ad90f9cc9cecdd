// SPDX-License-Identifier: Apache-2.0

package html

import (
	"fmt"
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

// bar is a fraction of ready objects with the parts of its picture, which is 100 wide.
type bar struct {
	Text  string
	Parts []part
}

// part is one part of a bar. Class is its state.
type part struct {
	Class       string
	From, Width string
}

// actualBar shows the objects by their state.
func actualBar(c report.Counts, none bool) bar {
	if none {
		return bar{Text: "?", Parts: parts(1, share{"unknown", 1})}
	}
	return bar{digest.Fraction(c.Ready, c.Desired), parts(c.Desired, share{"ready", c.Ready},
		share{"notready", c.NotReady + c.Modified}, share{"missing", c.Missing + c.Unowned},
		share{"unknown", c.Unknown})}
}

// aggregateBar shows the actual objects of an aggregate.
func aggregateBar(x digest.Aggregate) bar {
	if x.Numbers == nil || x.Numbers.Actual == nil {
		return actualBar(report.Counts{}, true)
	}
	return actualBar(x.Numbers.Actual.Counts, !x.Evaluated)
}

// reportedBar shows the numbers that Fleet reports. Those of an old status are not shown as ready.
func reportedBar(r *report.Reported) bar {
	text := digest.ReportedFraction(r)
	if text == "" {
		return bar{}
	}
	ready := max(min(*r.Ready, *r.DesiredReady), 0)
	missing := 0
	if r.Missing != nil {
		missing = max(min(*r.Missing, *r.DesiredReady-ready), 0)
	}
	if r.Stale {
		return bar{text, parts(1, share{"unknown", 1})}
	}
	return bar{text, parts(*r.DesiredReady, share{"ready", ready}, share{"notready", *r.DesiredReady - ready - missing},
		share{"missing", missing})}
}

type share struct {
	class string
	n     int
}

func parts(of int, shares ...share) []part {
	var out []part
	at := 0.0
	for _, s := range shares {
		if s.n > 0 && of > 0 {
			width := 100 * float64(s.n) / float64(of)
			out = append(out, part{s.class, fmt.Sprintf("%.2f", at), fmt.Sprintf("%.2f", width)})
			at += width
		}
	}
	return out
}
