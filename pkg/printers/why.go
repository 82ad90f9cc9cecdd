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
	return Document{o, w, w.Objects, func(t text) { t.why(w) }, func(t text) {
		seen := map[object.Ref]bool{}
		for _, x := range w.Objects {
			for _, c := range x.Causes {
				if r := c.Steps[len(c.Steps)-1].Object; !seen[r] {
					seen[r] = true
					t.objectName(r)
				}
			}
		}
	}}
}

// why begins with the answers. Then it shows what was not read, and the causes. Without causes, an answer says
// everything.
func (t text) why(w *report.Why) {
	for _, o := range w.Objects {
		t.answer(&o)
	}
	t.line("")
	t.notRead(w.Gaps, w.Notes)
	for _, o := range w.Objects {
		if len(w.Objects) > 1 && len(o.Causes)+len(o.Notes) > 0 {
			t.line(t.bold(printable(strings.ToLower(o.Kind) + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))))
		}
		t.explained(&o, w.TakenAt)
	}
	t.readFrom("Read from ", w.Source, w.TakenAt)
}

// answerColours are the colours of the states of an explanation.
var answerColours = map[report.State]string{report.Ready: green, report.NotReady: red, report.Unknown: yellow}

// answer says whether an object is ready.
func (t text) answer(o *report.WhyObject) {
	t.painted("", answerColours[o.State], o.Answer)
	about := strings.ToLower(o.Kind) + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	if r := o.Reported; r != nil && r.State != "" {
		about += ", which Fleet reports as " + r.State
		if r.AsOf != "" {
			about += " as of " + r.AsOf
		}
	}
	t.painted("  ", faint, about)
}

// explained shows the causes for which an object is not ready, with an empty line after each part.
func (t text) explained(o *report.WhyObject, takenAt string) {
	shown := limited(t, o.Causes)
	for _, c := range shown {
		t.cause(o, &c, takenAt)
		t.line("")
	}
	if more := len(o.Causes) - len(shown); more > 0 {
		t.more("", more, " causes")
		t.line("")
	}
	if s := o.Summary; len(o.Causes) > 0 && s.Ready > 0 {
		ready := fmt.Sprintf("%d of %s ready", s.Ready, plural(s.Deployments, "bundle deployment"))
		if s.FromStatus > 0 {
			ready += fmt.Sprintf(", %d as Fleet reports", s.FromStatus)
		}
		t.linef("%s.\n", printable(ready))
	}
	for _, n := range limited(t, o.Notes) {
		t.sentences("", n)
		t.line("")
	}
}

// maxClusters is the number of clusters of one cause that are shown without -o wide or --all.
const maxClusters = 5

func (t text) cause(o *report.WhyObject, c *report.WhyCause, takenAt string) {
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
		title = first(names, t.most(maxClusters, len(names)))
	}
	if c.State == report.Unknown {
		title += " (not known)"
	}
	t.painted("", bold, title)
	for i, s := range c.Steps {
		if s.AsOf == takenAt {
			s.AsOf = "" // the time of the whole report
		}
		t.step(i+1, &s, c.Steps[0].Cluster)
	}
	if len(c.Findings) > 0 {
		t.line("     " + t.faint(printable("audit: "+strings.Join(c.Findings, ", "))))
	}
	most := maxRepeated
	if !t.limits() {
		most = 0
	}
	steps := c.NextSteps(most)
	t.remedies("     ", steps)
	t.more("     ", len(c.NextSteps(0))-len(steps), " steps")
}

// step shows one step of a chain. A step on another cluster than the first one names it.
func (t text) step(n int, s *report.WhyStep, first string) {
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
	t.linef("  %d. %s", n, t.block(who+": "+s.Message+when, len(inset), len(inset)))
	details := slices.Clone(s.Evidence)
	others := s.Resources[min(1, len(s.Resources)):]
	shown := t.most(maxRepeated, len(others))
	for _, r := range others[:shown] {
		details = append(details, r.Message)
	}
	for _, d := range details {
		t.painted(inset, faint, d)
	}
	t.more(inset, len(others)-shown, "")
	if len(s.Clusters) > 0 {
		clusters := s.Clusters
		if t.limits() && len(clusters) > maxClusters {
			clusters = append(slices.Clone(clusters[:maxClusters]), fmt.Sprintf("%d more", len(clusters)-maxClusters))
		}
		t.painted(inset, faint, "unavailable or not updated: "+strings.Join(clusters, ", "))
	}
}
