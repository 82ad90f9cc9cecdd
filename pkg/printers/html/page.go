// SPDX-License-Identifier: Apache-2.0

package html

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

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
	Deployments   []deployment
	WellFrom      int // the index of the first deployment without a problem
	Groups        []group
	Clusters      []string // of findings: the cluster filter names them by their place
	Codes         []string
}

// aggregates are the aggregates of one kind.
type aggregates struct {
	Kind string
	Rows []aggregate
	// Well are the rows without a problem, if there are many.
	Well []aggregate
}

// manyWell is the number of aggregates without a problem above which they are folded.
const manyWell = 10

type aggregate struct {
	digest.Aggregate
	Actual, Reported bar
}

type deployment struct {
	*report.BundleDeployment
	Title    string
	Level    digest.Level
	Actual   bar
	Reported bar
	Why      string // why there is no result
	Objects  []report.Resource
}

type group struct {
	digest.Group
	Items []finding
}

type finding struct {
	*report.Finding
	Clusters []string
	Places   string // the places of the clusters in the filter
	Evidence []string
	Remedies []report.Remedy
	Fields   []digest.Field
}

func newPage(a *report.Audit) *page {
	p := &page{Policy: policy(), Style: template.CSS(style), Script: template.JS(script),
		Audit: a, Title: digest.Title(&a.Source), Facts: digest.Facts(a), Totals: digest.Totals(a),
		Unread: a.WithoutResult()}
	p.Level, p.Verdict = digest.Verdict(a)
	p.Objects = actualBar(a.Summary.Counts, p.Unread == len(a.BundleDeployments))
	for _, bd := range digest.Deployments(a) {
		p.Deployments = append(p.Deployments, newDeployment(bd))
	}
	p.WellFrom = slices.IndexFunc(p.Deployments, func(d deployment) bool { return d.Level == digest.Good })
	if p.WellFrom < 0 {
		p.WellFrom = len(p.Deployments)
	}
	p.aggregate()
	p.find()
	return p
}

// manyFindings is the number of findings above which a browser lays out only those that are on the screen.
const manyFindings = 200

// Long reports whether the document has many findings.
func (p *page) Long() bool { return len(p.Findings) > manyFindings }

// Problems are the bundle deployments that are not Good.
func (p *page) Problems() []deployment { return p.Deployments[:p.WellFrom] }

// Well are the bundle deployments that are Good.
func (p *page) Well() []deployment { return p.Deployments[p.WellFrom:] }

func newDeployment(bd *report.BundleDeployment) deployment {
	d := deployment{BundleDeployment: bd, Title: bd.Key(), Level: digest.LevelOf(bd),
		Actual: actualBar(bd.Counts, bd.WithoutResult()), Reported: reportedBar(bd.Reported), Why: bd.Reason}
	for _, r := range bd.Resources {
		if r.State != report.Ready {
			d.Objects = append(d.Objects, r)
		}
	}
	return d
}

// aggregate adds the aggregates of each kind.
func (p *page) aggregate() {
	for _, x := range digest.Aggregates(p.Audit) {
		row := aggregate{Aggregate: x, Actual: actualBar(report.Counts{}, true)}
		if n := x.Numbers; n != nil {
			row.Reported = reportedBar(n.Reported)
			if n.Actual != nil {
				row.Actual = actualBar(n.Actual.Counts, !x.Evaluated)
			}
		}
		if len(p.Aggregates) == 0 || p.Aggregates[len(p.Aggregates)-1].Kind != x.Kind {
			p.Aggregates = append(p.Aggregates, aggregates{Kind: x.Kind})
		}
		of := &p.Aggregates[len(p.Aggregates)-1]
		of.Rows = append(of.Rows, row)
	}
	for i := range p.Aggregates {
		of := &p.Aggregates[i]
		at := slices.IndexFunc(of.Rows, func(x aggregate) bool { return x.Well() })
		if at >= 0 && len(of.Rows)-at > manyWell {
			of.Rows, of.Well = of.Rows[:at], of.Rows[at:]
		}
	}
}

// find adds the findings and what the filters offer.
func (p *page) find() {
	place := map[string]int{}
	differences := digest.NewDifferences(p.Audit)
	for _, g := range digest.Groups(p.Audit) {
		out := group{Group: g}
		if !slices.Contains(p.Codes, g.Code) {
			p.Codes = append(p.Codes, g.Code)
		}
		for _, f := range g.Findings {
			fields := differences.Of(f)
			item := finding{Finding: f, Clusters: digest.Clusters(f), Fields: fields,
				Evidence: digest.Evidence(f, fields)}
			item.Remedies = linked(f.NextSteps(), g.URL())
			var places []string
			for _, c := range item.Clusters {
				n, known := place[c]
				if !known {
					n = len(p.Clusters)
					place[c], p.Clusters = n, append(p.Clusters, c)
				}
				places = append(places, strconv.Itoa(n))
			}
			item.Places = strings.Join(places, " ")
			out.Items = append(out.Items, item)
		}
		p.Groups = append(p.Groups, out)
	}
	slices.Sort(p.Codes)
}

// linked returns remedies with links that are web pages. The group has one link, which the remedies do not repeat.
func linked(remedies []report.Remedy, group string) []report.Remedy {
	out := slices.Clone(remedies)
	for i := range out {
		if url := out[i].URL; url == group || !strings.HasPrefix(url, "https://") {
			out[i].URL = ""
		}
	}
	return out
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
		share{"notready", c.NotReady + c.Modified},
		share{"missing", c.Missing + c.Unowned}, share{"unknown", c.Unknown})}
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
