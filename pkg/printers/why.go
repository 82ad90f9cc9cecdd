// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Why lays out an explanation. Its names are the objects that the root causes are about.
func Why(w *report.Why, o Options) Document {
	return Document{o, w, w.Objects, func(t text, b *bytes.Buffer) error { t.why(b, w); return nil },
		func(b *bytes.Buffer) {
			seen := map[object.Ref]bool{}
			for _, x := range w.Objects {
				for _, c := range x.Causes {
					if r := c.Steps[len(c.Steps)-1].Object; !seen[r] {
						seen[r] = true
						objectName(b, r)
					}
				}
			}
		}}
}

// why begins with the answer. What was read, and what was not, comes at the end.
func (t text) why(b *bytes.Buffer, w *report.Why) {
	for _, o := range w.Objects {
		t.whyObject(b, &o, w.TakenAt)
		b.WriteByte('\n')
	}
	t.notRead(b, w.Gaps, w.Notes)
	t.readFrom(b, "Read from ", w.Source, w.TakenAt)
}

// stateColours are the colours of the states of an explanation.
var stateColours = map[report.State]string{report.Ready: green, report.NotReady: red, report.Unknown: yellow}

func (t text) whyObject(b *bytes.Buffer, o *report.WhyObject, takenAt string) {
	t.painted(b, "", stateColours[o.State], o.Answer)
	about := strings.ToLower(o.Kind) + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	if r := o.Reported; r != nil && r.State != "" {
		about += ", which Fleet reports as " + r.State
		if r.AsOf != "" {
			about += " as of " + r.AsOf
		}
	}
	t.painted(b, "  ", faint, about)
	listed(t, b, "", o.Causes, " causes", func(c report.WhyCause) {
		b.WriteByte('\n')
		t.cause(b, o, &c, takenAt)
	})
	if s := o.Summary; len(o.Causes) > 0 && s.Ready > 0 {
		ready := fmt.Sprintf("%d of %s ready", s.Ready, plural(s.Deployments, "bundle deployment"))
		if s.FromStatus > 0 {
			ready += fmt.Sprintf(", %d as Fleet reports", s.FromStatus)
		}
		fmt.Fprintf(b, "\n%s.\n", printable(ready))
	}
	for _, n := range limited(t, o.Notes) {
		b.WriteByte('\n')
		t.sentences(b, "", n)
	}
}

// maxClusters is the number of clusters of one cause that are shown without -o wide.
const maxClusters = 5

func (t text) cause(b *bytes.Buffer, o *report.WhyObject, c *report.WhyCause, takenAt string) {
	title := "for all of its bundle deployments"
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
	t.painted(b, "", bold, title)
	for i, s := range c.Steps {
		if s.AsOf == takenAt {
			s.AsOf = "" // the time of the whole report
		}
		t.step(b, i+1, &s, c.Steps[0].Cluster)
	}
	if len(c.Findings) > 0 {
		fmt.Fprintln(b, "     "+t.faint(printable("audit: "+strings.Join(c.Findings, ", "))))
	}
	most := maxRepeated
	if t.wide {
		most = 0
	}
	steps := c.NextSteps(most)
	t.remedies(b, "     ", steps)
	t.more(b, "     ", len(c.NextSteps(0))-len(steps), " steps")
}

// step shows one step of a chain. A step on another cluster than the first one names it.
func (t text) step(b *bytes.Buffer, n int, s *report.WhyStep, first string) {
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
	fmt.Fprintf(b, "  %d. %s\n", n, strings.Join(t.lines(who+": "+s.Message+when, len(inset), len(inset)), "\n"+inset))
	details := slices.Clone(s.Evidence)
	if len(s.Resources) > 1 {
		others := s.Resources[1:]
		others = others[:t.most(maxRepeated, len(others))]
		for _, r := range others {
			details = append(details, r.Message)
		}
		if left := len(s.Resources) - 1 - len(others); left > 0 {
			details = append(details, fmt.Sprintf("… and %d more (-o wide shows them)", left))
		}
	}
	if len(s.Clusters) > 0 {
		shown := s.Clusters
		if !t.wide && len(shown) > maxClusters {
			shown = append(slices.Clone(shown[:maxClusters]), fmt.Sprintf("%d more", len(shown)-maxClusters))
		}
		details = append(details, "unavailable or not updated: "+strings.Join(shown, ", "))
	}
	for _, d := range details {
		t.painted(b, inset, faint, d)
	}
}
