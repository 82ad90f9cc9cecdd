// SPDX-License-Identifier: Apache-2.0

package html

import (
	"strings"

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
	// maxEach is the number of findings with details in a list, and of clusters of a finding that have their own steps.
	maxEach = 10
)

// problem is a problem as the layout shows it.
type problem struct {
	Headline, So string
	// About is the bundle of an object. Message is that of the first finding, if the headline has other words.
	About, Message string
	// First is the finding that stands for the problem.
	First finding
	// Same are the findings that are equal to the first one, and Follow those that follow.
	Same, Follow list
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

// list is a list of findings: some with details, others with one line, and the number of those that are not shown.
type list struct {
	Detailed, Named []finding
	More            int
	// Codes is true if the findings have different codes.
	Codes bool
}

// All is the number of findings.
func (l list) All() int { return len(l.Detailed) + len(l.Named) + l.More }

// builder makes problems. detailed and named are the numbers of findings for which there is room.
type builder struct {
	*report.Audit
	places          places
	differences     digest.Differences
	headlines       digest.Headlines
	detailed, named int
}

// problems returns the problems of an audit, and the number of those that are not shown.
func problems(a *report.Audit, of places) (out []problem, more int) {
	all := digest.AllProblems(a)
	shown := all[:min(len(all), maxProblems)]
	b := builder{Audit: a, places: of, differences: digest.NewDifferences(a),
		headlines: digest.NewHeadlines(a), detailed: maxDetailed, named: maxNamed}
	for _, x := range shown {
		out = append(out, b.problem(x))
	}
	return out, len(all) - len(shown)
}

func (b *builder) problem(x *digest.Problem) problem {
	out := problem{Headline: b.headlines.Of(x), So: digest.Consequences(x), First: b.detail(x.First()),
		Same: b.list(x.Findings[1:]), Follow: b.list(x.Follow)}
	out.Follow.Codes = true
	f := x.First()
	reworded := len(x.Findings) > 1 || len(f.Clusters) > 1 || digest.AboutFleet(f)
	if reworded {
		out.Message = f.Message
	}
	if !digest.AboutFleet(f) { // equal findings about objects have the same bundle
		out.About = f.Bundle
	}
	return out
}

func (b *builder) list(all []*report.Finding) list {
	out := list{}
	for i, f := range all {
		switch {
		case i < maxEach && b.detailed > 0:
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
	short.PerCluster = f.PerCluster[:min(len(f.PerCluster), maxEach)]
	out.MoreSteps = len(f.PerCluster) - len(short.PerCluster)
	for _, step := range short.NextSteps() {
		if step.URL == out.Explanation || !strings.HasPrefix(step.URL, "https://") {
			step.URL = ""
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}
