// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Placement is where Fleet would deploy a bundle of a directory, and with which options.
type Placement struct {
	// Repo is the GitRepo of the directory; nil if it is not known.
	Repo *v1alpha1.GitRepo
	// Cluster is the Cluster of the bundle deployment; nil if it is not known.
	Cluster *v1alpha1.Cluster
	// Applied are the indexes of the targets of the fleet.yaml whose options apply.
	Applied []int
	// NoTarget is why no target selects the cluster; Elsewhere are the clusters that targets select.
	NoTarget  string
	Elsewhere []string
	// Others are the other clusters that targets select, if the values of the bundle depend on the cluster.
	Others []render.Others
	// Gaps are what is not known, Notes what a reader should know, as sentences.
	Gaps, Notes []string
}

// Place evaluates the targets of a directory for the cluster of a bundle deployment. keyed is that of
// fleet.MergeOptions.
func Place(in *directory.Directory, l *render.Local, d *directory.Deployment, keyed bool) Placement {
	var p Placement
	for _, c := range in.Fleet.Clusters {
		if d.ClusterKey() == c.Namespace+"/"+c.Name {
			p.Cluster = c
		}
	}
	p.Repo = repoOf(in, l, d, p.Cluster)
	if p.Repo != nil && len(p.Repo.Spec.Bundles) > 0 {
		p.Gaps = append(p.Gaps,
			fmt.Sprintf("GitRepo %s/%s lists its bundles (spec.bundles), and this list is not evaluated",
				p.Repo.Namespace, p.Repo.Name))
		return p
	}
	workspace := p.Workspace(d)
	if p.Cluster == nil || workspace == "" {
		if l.ClusterDependent() {
			p.Gaps = append(p.Gaps,
				"the fleet.yaml has targets or targetCustomizations, and the Cluster for which they are evaluated is "+
					"not known")
		}
		return p
	}
	if p.Repo == nil && !l.ClusterDependent() {
		return p // every bundle is assumed to be deployed to the cluster
	}
	b := in.Targeting().Bundle(l.Bundle(workspace, p.Repo))
	if b.Invalid != nil {
		p.NoTarget = "targeting error: " + b.Invalid.Error()
		return p
	}
	result, ok := b.On(p.Cluster.Namespace, p.Cluster.Name)
	switch {
	case !ok:
		return p
	case result.Outcome == targeting.Unknown:
		p.Gaps = append(p.Gaps, fmt.Sprintf("whether its targets select cluster %s is not known (%s)",
			result.Cluster.Key(), result.Reason))
	case result.Outcome == targeting.Excluded:
		p.excluded(b, result)
	default:
		p.Applied = appliedTargets(l, result)
		p.otherClusters(l, b, result)
		p.Others = othersOf(l, b, p.Cluster, keyed)
		p.addOutdated(in, l, keyed)
	}
	return p
}

// othersOf returns the other clusters that targets select, by the targets of the fleet.yaml that apply to them.
func othersOf(l *render.Local, b *targeting.Bundle, cluster *v1alpha1.Cluster, keyed bool) []render.Others {
	clusters, applied := map[string][]*v1alpha1.Cluster{}, map[string][]int{}
	for r := range b.Results() {
		selected := r.Outcome == targeting.Expected || r.Outcome == targeting.Blocked
		if !selected || r.OptionsUnknown || r.Cluster.Cluster == cluster {
			continue
		}
		indexes := appliedTargets(l, r)
		key := fmt.Sprint(indexes)
		clusters[key], applied[key] = append(clusters[key], r.Cluster.Cluster), indexes
	}
	var out []render.Others
	for _, key := range slices.Sorted(maps.Keys(clusters)) {
		if o, depends := l.Others(clusters[key], applied[key], keyed); depends {
			out = append(out, o)
		}
	}
	return out
}

// addOutdated adds the clusters that the Bundle of the directory targets now, if the targets of its GitRepo are others.
func (p *Placement) addOutdated(in *directory.Directory, l *render.Local, keyed bool) {
	if p.Repo == nil || l.OverrideTargets != nil {
		return
	}
	for _, b := range in.Bundles {
		ofRepo := b.Namespace == p.Repo.Namespace && b.Labels[fleet.RepoLabel] == p.Repo.Name
		if !ofRepo || b.Name != l.Name || len(b.Spec.TargetRestrictions) == 0 {
			continue
		}
		repo := *p.Repo
		repo.Spec.Targets = b.Spec.TargetRestrictions
		if reflect.DeepEqual(l.Bundle(b.Namespace, &repo).Spec.Targets, l.Bundle(b.Namespace, p.Repo).Spec.Targets) {
			continue
		}
		now := othersOf(l, in.Targeting().Bundle(l.Bundle(b.Namespace, &repo)), p.Cluster, keyed)
		for _, o := range now {
			o.Outdated = true
			p.Others = append(p.Others, o)
		}
	}
}

// Workspace returns the namespace of the Bundle; empty if it is not known.
func (p *Placement) Workspace(d *directory.Deployment) string {
	switch {
	case d.BD != nil:
		return d.BD.Labels[fleet.BundleNamespaceLabel]
	case p.Repo != nil:
		return p.Repo.Namespace
	case p.Cluster != nil:
		return p.Cluster.Namespace
	}
	return ""
}

// appliedTargets returns the indexes of the targets of the fleet.yaml whose options apply to a cluster.
func appliedTargets(l *render.Local, result targeting.Result) []int {
	targets := result.Customizations
	if len(targets) == 0 && result.Target != nil {
		targets = []*targeting.Target{result.Target}
	}
	var out []int
	for _, t := range targets {
		if t.Index < len(l.Targets) {
			out = append(out, t.Index)
		}
	}
	return out
}

// otherClusters notes the options of the cluster, and the other clusters that the bundle targets with theirs.
func (p *Placement) otherClusters(l *render.Local, b *targeting.Bundle, target targeting.Result) {
	if target.OptionsUnknown {
		p.Gaps = append(p.Gaps,
			"which targetCustomizations apply depends on the version of Fleet's controller, which is not known")
	}
	if !l.ClusterDependent() {
		return
	}
	for _, t := range b.Ineffective(target) {
		if t.DoNotDeploy {
			p.Notes = append(p.Notes, "cluster "+target.Cluster.Key()+": "+targeting.WithoutEffect(t))
		}
	}
	described := func(r targeting.Result) string {
		var names []string
		for _, i := range appliedTargets(l, r) {
			names = append(names, l.Targets[i].Name)
		}
		if len(names) == 0 {
			return r.Cluster.Key() + " (without a customization)"
		}
		return r.Cluster.Key() + " (" + strings.Join(names, ", ") + ")"
	}
	var others []string
	for r := range b.Results() {
		if r.Cluster.Key() == target.Cluster.Key() {
			continue
		}
		switch r.Outcome {
		case targeting.Expected, targeting.Blocked:
			others = append(others, described(r))
		case targeting.Excluded:
			if r.Decides != nil {
				others = append(others, r.Cluster.Key()+" ("+whyExcluded(b, r)+": not deployed)")
			}
		}
	}
	note := "it is evaluated for cluster " + described(target)
	if len(others) > 0 {
		note += "; other clusters, which are not evaluated: " + someOf(others)
	}
	p.Notes = append(p.Notes, note)
}

// excluded records why the cluster is not a target, and which other clusters are.
func (p *Placement) excluded(b *targeting.Bundle, result targeting.Result) {
	var reasons []string
	for r := range b.Results() {
		switch r.Outcome {
		case targeting.Expected, targeting.Blocked:
			p.Elsewhere = append(p.Elsewhere, r.Cluster.Key())
		case targeting.Unknown:
			p.Gaps = append(p.Gaps, fmt.Sprintf("whether its targets select cluster %s is not known (%s)",
				r.Cluster.Key(), r.Reason))
		default:
			reasons = append(reasons, r.Cluster.Key()+" ("+whyExcluded(b, r)+")")
		}
	}
	if !b.Complete() {
		p.Gaps = append(p.Gaps,
			"no target selects a Cluster that was read, and not all Clusters and BundleNamespaceMappings could be read")
	}
	if len(p.Elsewhere) > 0 {
		p.Gaps = nil
		p.NoTarget = fmt.Sprintf("its targets do not select the cluster that is read (%s)", whyExcluded(b, result))
		return
	}
	if len(p.Gaps) > 0 {
		return // one of the clusters that are not known may be a target
	}
	var targets []string
	for _, t := range b.Targets {
		targets = append(targets, t.Title()+" ("+targeting.Describe(t.Spec)+")")
	}
	p.NoTarget = fmt.Sprintf("no cluster is a target: %s; considered: %s", strings.Join(targets, ", "), someOf(reasons))
}

// someOf joins the first ones of a list.
func someOf(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// whyExcluded describes why no target selects a cluster.
func whyExcluded(b *targeting.Bundle, r targeting.Result) string {
	if r.Decides != nil {
		return r.Decides.Title() + " has doNotDeploy"
	}
	for _, t := range b.Targets {
		if t.Customization {
			continue
		}
		for _, c := range b.Unmet(t, r.Cluster) {
			has := "not set"
			if c.Set {
				has = cmp.Or(c.Has, "empty")
			}
			if what := cmp.Or(c.Label, c.Field); what != "" {
				return what + " is " + has
			}
		}
	}
	return string(r.Reason)
}

// repoOf returns the GitRepo of a directory; nil if it is not known.
func repoOf(in *directory.Directory, l *render.Local, d *directory.Deployment, c *v1alpha1.Cluster) *v1alpha1.GitRepo {
	var found, near []*v1alpha1.GitRepo // near are those in the namespace of the cluster
	for _, g := range in.GitRepos {
		isOf := g.Name == l.GitRepo
		if d.BD != nil {
			isOf = g.Namespace+"/"+g.Name == d.GitRepo
		}
		if isOf {
			found = append(found, g)
		}
		if isOf && c != nil && g.Namespace == c.Namespace {
			near = append(near, g)
		}
	}
	switch {
	case len(near) == 1:
		return near[0]
	case len(found) == 1 && in.Read(state.GitRepo, ""):
		return found[0]
	}
	return nil
}
