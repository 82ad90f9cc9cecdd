// SPDX-License-Identifier: Apache-2.0

// Package export writes the formats that only an audit has: JUnit, SARIF, Markdown, HTML, and the rules for fleet.yaml.
package export

import (
	"crypto/sha256"
	_ "embed" // the template, the style and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The limits keep a document of many thousand findings usable. What they leave out is counted.
const (
	// maxProblems is the number of problems in the document, and firstProblems that of those that are not folded.
	maxProblems, firstProblems = 1000, 20
	// maxDetailed is the number of findings with evidence, differences and next steps in all lists together, and
	// maxNamed that of findings with one line. The first finding of each problem always has details.
	maxDetailed, maxNamed = 500, 5000
	// maxEachHTML is the number of findings with details in a list, and of clusters of a finding that have their
	// own steps.
	maxEachHTML = 10
)

// htmlProblem is a problem as the layout shows it.
type htmlProblem struct {
	Headline, So string
	// About is the bundle of an object. Message is that of the first finding, if the headline has other words.
	About, Message string
	// First is the finding that stands for the problem.
	First finding
	// Same are the findings that are equal to the first one, and Follow those that follow.
	Same, Follow htmlList
}

// finding is a finding as the layout shows it. Without details, it has no fields and no evidence.
type finding struct {
	*report.Finding
	// Explanation is the address of the page that explains the code; empty if it is not known.
	Explanation string
	// Places are its clusters in their filter.
	Places   string
	Fields   []digest.Field
	Evidence []string
	Steps    []report.Remedy
	// MoreSteps is the number of clusters whose own steps are left out.
	MoreSteps int
}

// htmlList is a list of findings: some with details, others with one line, and the number of those that are not
// shown.
type htmlList struct {
	Detailed, Named []finding
	More            int
	// Codes is true if the findings have different codes.
	Codes bool
}

// All is the number of findings.
func (l htmlList) All() int { return len(l.Detailed) + len(l.Named) + l.More }

// builder makes problems. detailed and named are the numbers of findings for which there is room.
type builder struct {
	*report.Audit
	places          places
	differences     digest.Differences
	headlines       digest.Headlines
	detailed, named int
}

// problems returns the problems of an audit, and the number of those that are not shown.
func problems(a *report.Audit, positions places) (out []htmlProblem, more int) {
	all := digest.AllProblems(a)
	shown := all[:min(len(all), maxProblems)]
	b := builder{Audit: a, places: positions, differences: digest.NewDifferences(a),
		headlines: digest.NewHeadlines(a), detailed: maxDetailed, named: maxNamed}
	for _, x := range shown {
		out = append(out, b.problem(x))
	}
	return out, len(all) - len(shown)
}

func (b *builder) problem(x *digest.Problem) htmlProblem {
	out := htmlProblem{Headline: b.headlines.Of(x), So: digest.Consequences(x), First: b.detail(x.First()),
		Same: b.list(x.Findings[1:]), Follow: b.list(x.Follow)}
	out.Follow.Codes = true
	f := x.First()
	if len(x.Findings) > 1 || len(f.Clusters) > 1 || digest.AboutFleet(f) {
		out.Message = f.Message
	}
	if !digest.AboutFleet(f) { // equal findings about objects have the same bundle
		out.About = f.Bundle
	}
	return out
}

func (b *builder) list(all []*report.Finding) htmlList {
	out := htmlList{}
	for i, f := range all {
		switch {
		case i < maxEachHTML && b.detailed > 0:
			b.detailed--
			out.Detailed = append(out.Detailed, b.detail(f))
		case b.named > 0:
			b.named--
			out.Named = append(out.Named, finding{Finding: f, Places: b.places.of(f)})
		default:
			out.More++
		}
	}
	return out
}

func (b *builder) detail(f *report.Finding) finding {
	fields := b.differences.Of(f)
	out := finding{Finding: f, Explanation: digest.Explanation(f), Places: b.places.of(f),
		Fields: fields, Evidence: digest.Evidence(f, fields)}
	short := *f
	short.PerCluster = f.PerCluster[:min(len(f.PerCluster), maxEachHTML)]
	out.MoreSteps = len(f.PerCluster) - len(short.PerCluster)
	for _, step := range short.NextSteps() {
		if step.URL == out.Explanation || !strings.HasPrefix(step.URL, "https://") {
			step.URL = ""
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// places are the places of clusters in their filter.
type places map[string]int

// filters returns the clusters and the codes of the findings of an audit, and the places of the clusters.
func filters(a *report.Audit) (clusters, codes []string, positions places) {
	positions = places{}
	for i := range a.Findings {
		f := &a.Findings[i]
		codes = append(codes, f.Code)
		for _, c := range digest.Clusters(f) {
			if _, known := positions[c]; !known {
				positions[c] = len(clusters)
				clusters = append(clusters, c)
			}
		}
	}
	slices.Sort(codes)
	return clusters, slices.Compact(codes), positions
}

// of are the places of the clusters of a finding.
func (p places) of(f *report.Finding) string {
	return strings.Join(report.Texts(digest.Clusters(f), func(c string) string { return strconv.Itoa(p[c]) }), " ")
}

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
	Problems, Folded []htmlProblem
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
	var positions places
	p.Clusters, p.Codes, positions = filters(a)
	p.Problems, p.MoreProblems = problems(a, positions)
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
	for rows := range digest.Runs(digest.Aggregates(p.Audit), func(x digest.Aggregate) string { return x.Kind }) {
		x := aggregates{Kind: rows[0].Kind, Rows: rows}
		index := slices.IndexFunc(rows, digest.Aggregate.Well)
		if index >= 0 && len(rows)-index > manyWell {
			x.Rows, x.Well = rows[:index], rows[index:]
		}
		p.Aggregates = append(p.Aggregates, x)
	}
}

var (
	//go:embed report.html.tmpl
	layout string
	//go:embed report.css
	style string
	//go:embed report.js
	script string
)

// policy permits the style and the script of the document, and no request at all.
func policy() string {
	return "default-src 'none'; style-src " + source(style) + "; script-src " + source(script) +
		"; base-uri 'none'; form-action 'none'"
}

// source is a content security policy's source for an inline element with this content.
func source(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// functions are the functions of the layout.
var functions = template.FuncMap{
	"plural":   report.Plural,
	"add":      func(x, y int) int { return x + y },
	"rows":     func(kind string, rows []digest.Aggregate) aggregates { return aggregates{Kind: kind, Rows: rows} },
	"level":    digest.LevelOf,
	"clusters": digest.Clusters,
	"tile":     func(s report.Severity, n int) tile { return tile{s, n} },
	"actual":   aggregateBar,
	"ready":    func(bd *report.BundleDeployment) bar { return actualBar(bd.Counts, bd.WithoutResult()) },
	"spread":   spreadBar,
	"reported": reportedBar,
	"unready":  unready,
}

// WriteHTML writes the report as an HTML document. The document needs JavaScript only for filters, the theme and
// copying.
func WriteHTML(w io.Writer, a *report.Audit) error {
	t, err := template.New("report").Funcs(functions).Parse(layout)
	if err != nil {
		return fmt.Errorf("parsing the layout of the HTML report: %w", err)
	}
	// Names and messages can contain characters that change the direction of the text. The writer replaces them.
	if err := t.Execute(escape.TextWriter(w), newPage(a)); err != nil {
		return fmt.Errorf("writing the report as HTML: %w", err)
	}
	return nil
}
