// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Comparison lays out a comparison of two audits. Its names are the bundle deployments that got worse.
func Comparison(c *report.Comparison, o Options) Document {
	return Document{o, c, c.Findings, func(l *layout) { compared(l, c) }, arguments(c.BundleDeployments,
		func(bd report.BundleDeploymentChange) bool { return bd.Effect == report.Worse },
		func(bd report.BundleDeploymentChange) string {
			return argument(bd.Namespace, bundleDeployment, bd.Name)
		})}
}

// effects are the sections of the table, in its order.
var effects = []struct {
	effect report.Effect
	word   string
	style  style
}{{report.Worse, "Worse", red}, {report.EffectUnknown, "Not known", yellow}, {report.Better, "Better", green},
	{report.Changed, "Changed", dim}}

func compared(l *layout, c *report.Comparison) {
	for i, side := range []report.Compared{c.Before, c.After} {
		readFrom(l, []string{"Before: ", "After:  "}[i], side.Source, side.TakenAt)
		if side.AsVersion != "" {
			l.line("        ", faint("evaluated for Fleet "+side.AsVersion))
		}
	}
	l.end()
	notRead(l, nil, c.Notes)
	lines := changedLines(c, !l.limits())
	for _, e := range effects {
		l.list("", bold(strings.ToUpper(e.word)), lines[e.effect])
		l.end()
	}
	changes(l, c)
}

// changedLines returns the changes by their effects. The finding about an object tells its state, which all shows too.
func changedLines(c *report.Comparison, all bool) map[report.Effect][]string {
	out := map[report.Effect][]string{}
	add := func(e report.Effect, line string) { out[e] = append(out[e], line) }
	for _, bd := range c.BundleDeployments {
		add(bd.Effect, deploymentChange(&bd))
	}
	findings := slices.Clone(c.Findings)
	slices.SortStableFunc(findings, func(x, y report.FindingChange) int { return x.Severity().Compare(y.Severity()) })
	type about struct {
		effect report.Effect
		object object.Ref
	}
	told := map[about]bool{}
	for _, f := range findings {
		told[about{f.Effect, f.Object}] = true
		add(f.Effect, findingChange(&f))
	}
	for _, r := range c.Resources {
		if all || !told[about{r.Effect, r.Ref}] {
			add(r.Effect, resourceChange(&r))
		}
	}
	for _, g := range c.Gaps {
		add(g.Effect, gapChange(&g))
	}
	return out
}

func deploymentChange(bd *report.BundleDeploymentChange) string {
	name := "bundle deployment " + bd.Name
	if bd.Cluster != "" {
		name += " on cluster " + bd.Cluster
	}
	switch {
	case bd.Before == nil:
		return name + " is new: " + deploymentState(bd.After)
	case bd.After == nil:
		return name + " is gone: it was " + deploymentState(bd.Before)
	}
	return name + ": " + deploymentState(bd.Before) + " → " + deploymentState(bd.After)
}

// deploymentState is the state with the ready fraction. Without a result, it is what Fleet reports.
func deploymentState(s *report.DeploymentState) string {
	c, r := s.Counts, s.Reported
	switch {
	case s.Reason == "" && s.State != report.Unknown && c.Unknown < max(c.Desired, 1):
		return fmt.Sprintf("%s %d/%d", s.State, c.Ready, c.Desired)
	case r == nil || r.State == "":
		return strings.TrimSuffix(fmt.Sprintf("no result (%s)", s.Reason), " ()")
	case r.Ready == nil || r.DesiredReady == nil:
		return fmt.Sprintf("no result, Fleet reports %s", r.State)
	}
	return fmt.Sprintf("no result, Fleet reports %s %d/%d", r.State, *r.Ready, *r.DesiredReady)
}

func findingChange(f *report.FindingChange) string {
	s := fmt.Sprintf("%s %s %s", f.Severity(), f.Code, f.Message)
	switch {
	case f.After == "" && f.Effect == report.EffectUnknown:
		return s + " (it was reported before; what it is about could not be read after)"
	case f.After == "":
		return fmt.Sprintf("no longer reported: %s %s", f.Code, f.Message)
	case f.Before == "" && f.Effect == report.EffectUnknown:
		return s + " (what it is about could not be read before)"
	case f.Before != "":
		return s + fmt.Sprintf(" (it was %s before)", f.Before)
	}
	return s
}

func resourceChange(r *report.ResourceChange) string {
	state := func(s *report.ResourceState) string {
		switch {
		case s == nil:
			return "not desired"
		case s.Reason != "":
			return fmt.Sprintf("%s (%s)", s.State, s.Reason)
		}
		return string(s.State)
	}
	return fmt.Sprintf("%s: %s → %s", r.Key(), state(r.Before), state(r.After))
}

func gapChange(g *report.GapChange) string {
	audit := "second"
	if g.Effect == report.Changed {
		audit = "first"
	}
	return fmt.Sprintf("not read in the %s audit: %s (%s)", audit, digest.What(&g.Gap), g.Why())
}

// changes is the last line: the number of changes of each kind.
func changes(l *layout, c *report.Comparison) {
	s := c.Summary
	var words []phrase
	for _, e := range effects {
		var counts []string
		for i, c := range []report.ChangeCounts{s.BundleDeployments, s.Findings, s.Resources, s.Gaps} {
			if n := c.Number(e.effect); n > 0 {
				counts = append(counts, plural(n, []string{"bundle deployment", "finding", "object", "gap"}[i]))
			}
		}
		if len(counts) > 0 {
			words = append(words, styled(e.style, e.word+": "+strings.Join(counts, ", ")+"."))
		}
	}
	switch {
	case len(words) > 0:
	case s.FromStatus+c.Before.Gaps+c.After.Gaps > 0:
		words = append(words, styled(yellow, "No change in what could be read."))
	default:
		words = append(words, styled(green, "No change."))
	}
	if s.FromStatus > 0 {
		words = append(words, join(fmt.Sprintf("Only the status that Fleet reports was compared for %s.",
			plural(s.FromStatus, "bundle deployment"))))
	}
	l.add(paragraph{words: words})
}

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
		return report.Texts(roots, argumentOf)
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
	listed(l, "", o.Causes, " causes", func(c report.WhyCause) {
		cause(l, o, &c, takenAt)
		l.end()
	})
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
