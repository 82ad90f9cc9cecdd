// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// placement is where Fleet would deploy a bundle of a directory, and with which options.
type placement struct {
	repo *v1alpha1.GitRepo
	// cluster is the Cluster of the bundle deployment; nil if it is not known.
	cluster *v1alpha1.Cluster
	// applied are the indexes of the targets of the fleet.yaml whose options apply.
	applied []int
	// noTarget is why no target selects the cluster; elsewhere are the clusters that targets select.
	noTarget    string
	elsewhere   []string
	gaps, notes []string
}

// bundlesOfFiles returns the bundles of the directories, and adds their deployments to the Directory.
func (r *Reading) bundlesOfFiles() ([]collect.Bundle, error) {
	if _, err := r.scope(); err != nil {
		return nil, err
	}
	var out []collect.Bundle
	var deployments []*directory.Deployment
	for _, l := range r.options.Files {
		found, err := r.ofFiles(l.Name)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			b := r.bundleOfFiles(d)
			out, deployments = append(out, b), append(deployments, b.Deployment)
		}
	}
	r.Directory = r.Directory.With(deployments)
	return out, nil
}

// ofFiles returns the bundle deployments of a bundle in a directory, by its name: those that exist, at most one on a
// cluster, or one that does not exist yet if only one cluster is read.
func (r *Reading) ofFiles(name string) ([]*directory.Deployment, error) {
	var found []*directory.Deployment
	on := map[object.ClusterID]bool{}
	for _, d := range r.Directory.Deployments {
		if d.Name != name || d.On == nil {
			continue
		}
		if on[d.On.ID] {
			return nil, fmt.Errorf("bundle %s: several bundle deployments on this cluster have that name", name)
		}
		found, on[d.On.ID] = append(found, d), true
	}
	switch clusters := r.Directory.Clusters; {
	case len(found) > 0:
		return found, nil
	case len(clusters) == 1:
		return []*directory.Deployment{directory.NewBundle(clusters[0], name)}, nil
	}
	return nil, fmt.Errorf("bundle %s: no bundle deployment has that name, and several clusters are read", name)
}

// bundleOfFiles returns the bundle of a directory to render for the cluster of a bundle deployment.
func (r *Reading) bundleOfFiles(d *directory.Deployment) collect.Bundle {
	i := slices.IndexFunc(r.options.Files, func(l *render.Local) bool { return l.Name == d.Name })
	l := r.options.Files[i]
	p := r.place(l, d)
	controller := r.controllerVersion(d)
	refused, gaps := l.Validate(controller, r.Directory.ImageScan)
	if refused != "" {
		p.noTarget, p.elsewhere = "", nil // no Bundle is made
	}
	in := l.For(p.cluster, p.repo, p.applied, controller == nil || !controller.Before(16, 0))
	in.Gaps, in.Notes = slices.Concat(in.Gaps, p.gaps, gaps), slices.Concat(in.Notes, p.notes)
	fromFiles := *d
	fromFiles.Files = &directory.Files{Options: &in.Options, Workspace: p.workspace(d), Labels: l.BundleLabels(),
		DependsOn: l.DependsOn, Refused: refused, NoTarget: p.noTarget, Elsewhere: p.elsewhere}
	out := r.bundle(&fromFiles)
	out.Files = &in
	return out
}

// controllerVersion returns the version of Fleet's controller; nil if it is not known. A development build beside an
// agent of a release can be one of the branch of that release.
func (r *Reading) controllerVersion(d *directory.Deployment) *fleet.Version {
	tag := r.Directory.ControllerVersion
	_, known := fleet.ParseVersion(tag)
	_, released := fleet.ParseVersion(d.On.AgentVersion(d.DeploymentNamespace()))
	if v, ok := fleet.ParseBuild(tag); ok && (known || !released) {
		return &v
	}
	return nil
}

// workspace returns the namespace of the Bundle; empty if it is not known.
func (p *placement) workspace(d *directory.Deployment) string {
	switch {
	case d.BD != nil:
		return d.BD.Labels[fleet.BundleNamespaceLabel]
	case p.repo != nil:
		return p.repo.Namespace
	case p.cluster != nil:
		return p.cluster.Namespace
	}
	return ""
}

// place evaluates the targets of a directory for the cluster of a bundle deployment.
func (r *Reading) place(l *render.Local, d *directory.Deployment) placement {
	var p placement
	for _, c := range r.Directory.Fleet.Clusters {
		if d.ClusterKey() == c.Namespace+"/"+c.Name {
			p.cluster = c
		}
	}
	p.repo = r.repoOf(l, d, p.cluster)
	if p.repo != nil && len(p.repo.Spec.Bundles) > 0 {
		p.gaps = append(p.gaps,
			fmt.Sprintf("GitRepo %s/%s lists its bundles (spec.bundles), and this list is not evaluated",
				p.repo.Namespace, p.repo.Name))
		return p
	}
	workspace := p.workspace(d)
	if p.cluster == nil || workspace == "" {
		if l.ClusterDependent() {
			p.gaps = append(p.gaps,
				"the fleet.yaml has targets or targetCustomizations, and the Cluster for which they are evaluated is "+
					"not known")
		}
		return p
	}
	if p.repo == nil && !l.ClusterDependent() {
		return p // every bundle is assumed to be deployed to the cluster
	}
	b := r.Directory.Targeting().Bundle(l.Bundle(workspace, p.repo))
	if b.Invalid != nil {
		p.noTarget = "targeting error: " + b.Invalid.Error()
		return p
	}
	result, ok := b.On(p.cluster.Namespace, p.cluster.Name)
	switch {
	case !ok:
		return p
	case result.Outcome == targeting.Unknown:
		p.gaps = append(p.gaps, fmt.Sprintf("whether its targets select cluster %s is not known (%s)",
			result.Cluster.Key(), result.Reason))
	case result.Outcome == targeting.Excluded:
		p.excluded(b, result)
	default:
		p.applied = appliedTargets(l, result)
		p.otherClusters(l, b, result)
	}
	return p
}

// appliedTargets returns the indexes of the targets of the fleet.yaml whose options apply to a cluster.
func appliedTargets(l *render.Local, result targeting.Result) []int {
	of := result.Customizations
	if len(of) == 0 && result.Target != nil {
		of = []*targeting.Target{result.Target}
	}
	var out []int
	for _, t := range of {
		if t.Index < len(l.Targets) {
			out = append(out, t.Index)
		}
	}
	return out
}

// otherClusters notes the options of the cluster, and the other clusters that the bundle targets with theirs.
func (p *placement) otherClusters(l *render.Local, b *targeting.Bundle, on targeting.Result) {
	if on.OptionsUnknown {
		p.gaps = append(p.gaps,
			"which targetCustomizations apply depends on the version of Fleet's controller, which is not known")
	}
	if !l.ClusterDependent() {
		return
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
		if r.Cluster.Key() == on.Cluster.Key() {
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
	note := "it is evaluated for cluster " + described(on)
	if len(others) > 0 {
		note += "; other clusters, which are not evaluated: " + someOf(others)
	}
	p.notes = append(p.notes, note)
}

// excluded records why the cluster is not a target, and which other clusters are.
func (p *placement) excluded(b *targeting.Bundle, result targeting.Result) {
	var reasons []string
	for r := range b.Results() {
		switch r.Outcome {
		case targeting.Expected, targeting.Blocked:
			p.elsewhere = append(p.elsewhere, r.Cluster.Key())
		case targeting.Unknown:
			p.gaps = append(p.gaps, fmt.Sprintf("whether its targets select cluster %s is not known (%s)",
				r.Cluster.Key(), r.Reason))
		default:
			reasons = append(reasons, r.Cluster.Key()+" ("+whyExcluded(b, r)+")")
		}
	}
	if !b.Complete() {
		p.gaps = append(p.gaps,
			"no target selects a Cluster that was read, and not all Clusters and BundleNamespaceMappings could be read")
	}
	if len(p.elsewhere) > 0 {
		p.gaps = nil
		p.noTarget = fmt.Sprintf("its targets do not select the cluster that is read (%s)", whyExcluded(b, result))
		return
	}
	if len(p.gaps) > 0 {
		return // one of the clusters that are not known may be a target
	}
	var targets []string
	for _, t := range b.Targets {
		targets = append(targets, t.Title()+" ("+targeting.Describe(t.Spec)+")")
	}
	p.noTarget = fmt.Sprintf("no cluster is a target: %s; considered: %s", strings.Join(targets, ", "), someOf(reasons))
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
func (r *Reading) repoOf(l *render.Local, d *directory.Deployment, c *v1alpha1.Cluster) *v1alpha1.GitRepo {
	var found, near []*v1alpha1.GitRepo // near are those in the namespace of the cluster
	for _, g := range r.Directory.GitRepos {
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
	case len(found) == 1 && r.Directory.Read(state.GitRepo, ""):
		return found[0]
	}
	return nil
}
