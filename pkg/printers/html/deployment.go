// SPDX-License-Identifier: Apache-2.0

package html

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// firstBundles is the number of bundles that are not folded.
	firstBundles = 40
	// maxDeployments is the number of bundle deployments that are shown below all bundles together, minDeployments that
	// below each one, and maxObjects the number of objects of each.
	maxDeployments, minDeployments, maxObjects = 3000, 5, 50
)

// deployments are the bundle deployments as the layout shows them. If they are many, they are folded by bundle.
type deployments struct {
	NotReady, Ready        []*report.BundleDeployment
	Bundles, FoldedBundles []bundle
	ReadyBundles           []*digest.Spread
	All                    int
	Unread                 string // which states are those that Fleet reports; empty if all clusters were read
}

// bundle is a bundle with its bundle deployments that are not ready. A bundle deployment on a cluster that was not read
// has the state that Fleet reports.
type bundle struct {
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
	at := slices.IndexFunc(all, func(bd *report.BundleDeployment) bool { return digest.LevelOf(bd) == digest.Good })
	if at < 0 {
		at = len(all)
	}
	out.NotReady, out.Ready = all[:at], all[at:]
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
		d.Bundles = append(d.Bundles, bundle{Spread: s, Deployments: shown, More: len(list) - len(shown)})
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

// spreadBar shows how many bundle deployments are ready. Those on clusters that were not read have their own share.
func spreadBar(s *digest.Spread) bar {
	return bar{digest.Fraction(s.Ready(), s.All), parts(s.All, share{"ready", s.Read - s.NotReady},
		share{"notready", s.NotReady}, share{"unknown", s.All - s.Read})}
}
