// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// aggregates sums the deployments up to Bundle, GitRepo or HelmOp, and Cluster. One of which only a part is in scope, or could be read, is
// left out: a sum over a part is no truth about the whole.
func (r *run) aggregates(out *report.Audit, c *check.Case) {
	sums := map[string]*sum{}
	at := func(kind, key string) *sum {
		k := kind + " " + key
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		return sums[k]
	}
	levels := func(d *inventory.Deployment) map[string]string {
		return map[string]string{"Bundle": d.Bundle, "GitRepo": d.GitRepo, "HelmOp": d.HelmOp, "Cluster": d.Cluster}
	}
	for _, d := range r.inv.Deployments {
		for kind, key := range levels(d) {
			at(kind, key).all++
		}
	}
	for _, d := range c.Deployments {
		for kind, key := range levels(d.Deployment) {
			at(kind, key).add(d)
		}
	}
	add := func(list *[]report.Aggregate, kind, namespace, name, deployments string, says *report.Reported) {
		s := at(kind, namespace+"/"+name)
		none := s.all == 0 && c.Whole && r.deploymentsRead(deployments)
		if s.all == s.BundleDeployments && !s.unread && (s.all > 0 || none) {
			*list = append(*list, report.Aggregate{Namespace: namespace, Name: name, Actual: s.Actual, Reported: says})
		}
	}
	const everywhere = ""
	for _, o := range r.inv.Bundles {
		add(&out.Bundles, "Bundle", o.Namespace, o.Name, everywhere,
			withSummary(&report.Reported{State: o.Status.Display.State, AsOf: check.Newest(o.Status.Conditions)}, o.Status.Summary))
	}
	for _, o := range r.inv.GitRepos {
		add(&out.GitRepos, "GitRepo", o.Namespace, o.Name, everywhere, repoSays(o.Status))
	}
	for _, o := range r.inv.HelmOps {
		add(&out.HelmOps, "HelmOp", o.Namespace, o.Name, everywhere, repoSays(o.Status))
	}
	for _, o := range r.inv.Clusters {
		says := withSummary(withCounts(&report.Reported{State: o.Status.Display.State, AsOf: o.Status.Agent.LastSeen}, o.Status.ResourceCounts), o.Status.Summary)
		add(&out.Clusters, "Cluster", o.Namespace, o.Name, o.Status.Namespace, says)
	}
}

// sum is what the deployments below one object add up to.
type sum struct {
	report.Actual
	all int // in scope or not
	// unread says that of one of them nothing could be read. One that is not installed has nothing to be read, for Fleet as well.
	unread bool
}

func (s *sum) add(d *check.Deployment) {
	s.BundleDeployments++
	if d.State == report.Ready {
		s.ReadyBundleDeployments++
	}
	s.Counts = s.Counts.Plus(d.Counts)
	s.unread = s.unread || d.Problem != "" && d.Problem != inventory.NoReleaseRecord
}

func repoSays(s v1alpha1.RepoStatus) *report.Reported {
	r := &report.Reported{State: s.Display.State, AsOf: check.Newest(s.Conditions)}
	if s.ResourceCounts != nil {
		withCounts(r, *s.ResourceCounts)
	}
	return withSummary(r, s.Summary)
}

func withCounts(r *report.Reported, c v1alpha1.ResourceCounts) *report.Reported {
	r.DesiredReady, r.Ready, r.Missing = &c.DesiredReady, &c.Ready, &c.Missing
	r.Modified, r.NotReady, r.Orphaned = &c.Modified, &c.NotReady, &c.Orphaned
	return r
}

func withSummary(r *report.Reported, s v1alpha1.Summary) *report.Reported {
	r.BundleDeployments, r.ReadyBundleDeployments = &s.DesiredReady, &s.Ready
	return r
}

// reported is what a BundleDeployment's status says; nil where there is none.
func reported(bd *v1alpha1.BundleDeployment) *report.Reported {
	if bd == nil {
		return nil
	}
	r := &report.Reported{State: bd.Status.Display.State, AsOf: check.AsOf(bd)}
	if c := bd.Status.ResourceCounts; c != nil {
		withCounts(r, *c)
	}
	return r
}

// excused says whether the bundle does not miss an object.
func excused(rules []compare.Rule, o check.Object) bool { return compare.Excused(rules, o.Ref) }
