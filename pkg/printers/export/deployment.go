// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// firstBundles is the number of bundles that are not folded.
	firstBundles = 40
	// maxDeployments is the number of bundle deployments that are shown below all bundles together, minDeployments
	// that below each one, and maxObjects the number of objects of each.
	maxDeployments, minDeployments, maxObjects = 3000, 5, 50
)

// deployments are the bundle deployments as the layout shows them. If they are many, they are folded by bundle.
type deployments struct {
	NotReady, Ready        []*report.BundleDeployment
	Bundles, FoldedBundles []htmlBundle
	ReadyBundles           []*digest.Spread
	All                    int
	Unread                 string // which states are those that Fleet reports; empty if all clusters were read
}

// htmlBundle is a bundle with its bundle deployments that are not ready. A bundle deployment on a cluster
// that was not read has the state that Fleet reports.
type htmlBundle struct {
	*digest.Spread
	Deployments []*report.BundleDeployment
	More        int
}

func newDeployments(a *report.Audit) deployments {
	all := digest.Deployments(a)
	out := deployments{All: len(all)}
	if len(all) > digest.MaxDetailed {
		out.fold(a, all)
		return out
	}
	index := slices.IndexFunc(all, func(bd *report.BundleDeployment) bool { return digest.LevelOf(bd) == digest.Good })
	if index < 0 {
		index = len(all)
	}
	out.NotReady, out.Ready = all[:index], all[index:]
	return out
}

// fold adds the bundles, those with problems first.
func (d *deployments) fold(a *report.Audit, all []*report.BundleDeployment) {
	notReady := map[string][]*report.BundleDeployment{}
	for _, bd := range all {
		if digest.ShownState(bd) != report.Ready {
			notReady[bd.Bundle] = append(notReady[bd.Bundle], bd)
		}
	}
	d.Unread = digest.Elsewhere(a)
	left := maxDeployments
	for _, s := range digest.Spreads(a, digest.BundleOf) {
		list := notReady[s.Name]
		if len(list) == 0 {
			d.ReadyBundles = append(d.ReadyBundles, s)
			continue
		}
		shown := list[:min(len(list), max(left, minDeployments))]
		left -= len(shown)
		d.Bundles = append(d.Bundles, htmlBundle{Spread: s, Deployments: shown, More: len(list) - len(shown)})
	}
	if len(d.Bundles) > firstBundles {
		d.Bundles, d.FoldedBundles = d.Bundles[:firstBundles], d.Bundles[firstBundles:]
	}
}

// objects are the objects of a bundle deployment that are not ready, and the number of those that are not shown.
type objects struct {
	Shown []report.Resource
	More  int
}

// All is the number of objects.
func (o objects) All() int { return len(o.Shown) + o.More }

func unready(bd *report.BundleDeployment) objects {
	all := slices.DeleteFunc(slices.Clone(bd.Resources), func(r report.Resource) bool {
		return r.State == report.Ready
	})
	shown := all[:min(len(all), maxObjects)]
	return objects{Shown: shown, More: len(all) - len(shown)}
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

// newBar returns the bar of a number of objects with the numbers of those that are ready, and so on.
func newBar(text string, all int, ready, notReady, missing, unknown int) bar {
	out, from := bar{Text: text}, 0.0
	classes := []string{"ready", "notready", "missing", "unknown"}
	for i, n := range []int{ready, notReady, missing, unknown} {
		if n > 0 && all > 0 {
			width := 100 * float64(n) / float64(all)
			out.Parts = append(out.Parts, part{classes[i], fmt.Sprintf("%.2f", from), fmt.Sprintf("%.2f", width)})
			from += width
		}
	}
	return out
}

// spreadBar shows how many bundle deployments are ready. Those on clusters that were not read have their own
// share.
func spreadBar(s *digest.Spread) bar {
	return newBar(digest.Fraction(s.Ready(), s.All), s.All, s.Read-s.NotReady, s.NotReady, 0, s.All-s.Read)
}

// actualBar shows the objects by their state.
func actualBar(c report.Counts, none bool) bar {
	if none {
		return newBar("?", 1, 0, 0, 0, 1)
	}
	return newBar(digest.Fraction(c.Ready, c.Desired), c.Desired, c.Ready, c.NotReady+c.Modified, c.Missing+c.Unowned,
		c.Unknown)
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
	switch {
	case text == "":
		return bar{}
	case r.Stale:
		return newBar(text, 1, 0, 0, 0, 1)
	}
	all := *r.DesiredReady
	ready := max(min(*r.Ready, all), 0)
	missing := max(min(ptr.Deref(r.Missing, 0), all-ready), 0)
	return newBar(text, all, ready, all-ready-missing, missing, 0)
}
