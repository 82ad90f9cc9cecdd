// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Why lays out an explanation. Its names are the objects that the root causes are about.
func Why(w *report.Why, o Options) Document {
	return Document{o, w, w.Objects, func(l *layout) { why(l, w) }, func() []string {
		var roots []object.Ref
		for _, x := range w.Objects {
			for _, c := range x.Causes {
				if root := c.Steps[len(c.Steps)-1].Object; !slices.Contains(roots, root) {
					roots = append(roots, root)
				}
			}
		}
		return texts(roots, argumentOf)
	}}
}

// why begins with the answers. Then it shows what was not read, and the causes. Without causes, an answer says
// everything.
func why(l *layout, w *report.Why) {
	for _, o := range w.Objects {
		whyAnswer(l, &o)
	}
	l.end()
	notRead(l, w.Gaps, w.Notes)
	for _, o := range w.Objects {
		if len(w.Objects) > 1 && len(o.Causes)+len(o.Notes) > 0 {
			l.title(nameOf(&o))
		}
		explained(l, &o, w.TakenAt)
	}
	readFrom(l, "Read from ", w.Source, w.TakenAt)
}

// answerColours are the colours of the states of an explanation.
var answerColours = map[report.State]style{report.Ready: green, report.NotReady: red, report.Unknown: yellow}

func nameOf(o *report.WhyObject) string {
	return strings.ToLower(o.Kind) + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// whyAnswer says whether an object is ready.
func whyAnswer(l *layout, o *report.WhyObject) {
	l.paint("", answerColours[o.State], o.Answer)
	about := nameOf(o)
	if r := o.Reported; r != nil && r.State != "" {
		about += ", which Fleet reports as " + r.State
		if r.AsOf != "" {
			about += " as of " + r.AsOf
		}
	}
	l.paint("  ", dim, about)
}

// explained shows the causes for which an object is not ready, with an empty line after each part.
func explained(l *layout, o *report.WhyObject, takenAt string) {
	shown := limited(l, o.Causes)
	for _, c := range shown {
		cause(l, o, &c, takenAt)
		l.end()
	}
	l.more("", len(o.Causes)-len(shown), " causes")
	l.end()
	if s := o.Summary; len(o.Causes) > 0 && s.Ready > 0 {
		ready := fmt.Sprintf("%d of %s ready", s.Ready, plural(s.Deployments, "bundle deployment"))
		if s.FromStatus > 0 {
			ready += fmt.Sprintf(", %d as Fleet reports", s.FromStatus)
		}
		l.line(ready, ".")
		l.end()
	}
	for _, n := range limited(l, o.Notes) {
		l.sentences("", n)
		l.end()
	}
}

// maxClusters is the number of clusters of one cause that are shown without -o wide or --all.
const maxClusters = 5

func cause(l *layout, o *report.WhyObject, c *report.WhyCause, takenAt string) {
	title := "for the " + strings.ToLower(o.Kind) + " itself"
	var names []string
	for _, d := range c.Deployments {
		name := d.Cluster
		if _, bundle, ok := strings.Cut(d.Bundle, "/"); ok && o.Kind != "Bundle" && o.Kind != "BundleDeployment" {
			name = strings.TrimSuffix(bundle+" on "+d.Cluster, " on ")
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		title = first(names, l.most(maxClusters, len(names)))
	}
	if c.State == report.Unknown {
		title += " (not known)"
	}
	l.paint("", strong, title)
	for i, s := range c.Steps {
		if s.AsOf == takenAt {
			s.AsOf = "" // the time of the whole report
		}
		step(l, i+1, &s, c.Steps[0].Cluster)
	}
	if len(c.Findings) > 0 {
		l.line("     ", faint("audit: "+strings.Join(c.Findings, ", ")))
	}
	most := maxRepeated
	if !l.limits() {
		most = 0
	}
	steps := c.NextSteps(most)
	remedies(l, "     ", steps)
	l.more("     ", len(c.NextSteps(0))-len(steps), " steps")
}

// step shows one step of a chain. A step on another cluster than the first one names it.
func step(l *layout, n int, s *report.WhyStep, first string) {
	const inset = "     "
	who := s.Name
	if s.Cluster != first && s.Cluster != "" {
		who += " on " + s.Cluster
	}
	when := ""
	switch {
	case s.Since != "":
		when = " (since " + s.Since + ")"
	case s.AsOf != "":
		when = " (as of " + s.AsOf + ")"
	}
	l.hang(len(inset), who+": "+s.Message+when, "  ", n, ". ")
	details := slices.Clone(s.Evidence)
	others := s.Resources[min(1, len(s.Resources)):]
	shown := l.most(maxRepeated, len(others))
	for _, r := range others[:shown] {
		details = append(details, r.Message)
	}
	for _, d := range details {
		l.paint(inset, dim, d)
	}
	l.more(inset, len(others)-shown, "")
	if len(s.Clusters) > 0 {
		clusters := s.Clusters
		if l.limits() && len(clusters) > maxClusters {
			clusters = append(slices.Clone(clusters[:maxClusters]), fmt.Sprintf("%d more", len(clusters)-maxClusters))
		}
		l.paint(inset, dim, "unavailable or not updated: "+strings.Join(clusters, ", "))
	}
}
