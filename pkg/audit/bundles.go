// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// render returns the bundle deployments that are audited, and those of their bundles that the options request,
// rendered.
func (r *Reading) render(ctx context.Context) ([]object.DeploymentID, []*desired.Rendering, error) {
	bundles, err := r.bundles()
	if err != nil {
		return nil, nil, err
	}
	scope := make([]object.DeploymentID, len(bundles))
	for i, b := range bundles {
		scope[i] = b.Deployment.ID()
	}
	bundles = slices.DeleteFunc(bundles, func(b collect.Bundle) bool { return b.Target == nil })
	if r.options.Predict {
		bundles = append(bundles, r.competitors(scope)...)
	}
	if len(bundles) == 0 {
		return scope, nil, nil
	}
	renderer := cmp.Or[collect.Renderer](r.options.Renderer, collect.InProcess{})
	renderings, err := r.Reader.Render(ctx, renderer, bundles)
	return scope, renderings, err
}

// bundles returns the bundles in scope. One that is not rendered has no Target.
func (r *Reading) bundles() ([]collect.Bundle, error) {
	if r.options.Desired == DesiredFiles {
		return r.bundlesOfFiles()
	}
	scope, err := r.scope()
	var out []collect.Bundle
	for _, d := range scope {
		b := collect.Bundle{Deployment: d}
		if r.renders(d) {
			b = r.bundle(d)
		}
		out = append(out, b)
	}
	return out, err
}

// renders reports whether the options request the objects of the bundle of a deployment.
func (r *Reading) renders(d *directory.Deployment) bool {
	if d.BD == nil || d.Agent == "" {
		return false
	}
	switch r.options.Desired {
	case DesiredBundle:
		return true
	case DesiredAuto:
		return d.Problem == directory.NoReleaseRecord
	}
	return false
}

// renderingGaps returns the gaps of the bundles that were rendered. The gap of a bundle out of scope matters only if it
// desires an object of a bundle in scope, or if it may desire one, because none of its objects is known.
func renderingGaps(wanted *desired.State, scope []*desired.BundleDeployment) []source.Gap {
	var out []source.Gap
	inScope := func(o *desired.Object) bool { return slices.Contains(scope, wanted.Deployment(o.Deployment)) }
	for _, d := range wanted.Deployments {
		shared := func(o *desired.Object) bool {
			return slices.ContainsFunc(wanted.On(d.ClusterID).Of(o.Key()),
				inScope)
		}
		x := &d.Rendering
		inQuestion := len(scope) == 0 || slices.Contains(scope, d)
		mayShare := x.CompetitorOnly && len(x.Objects) == 0 || slices.ContainsFunc(d.Desired, shared)
		if inQuestion || mayShare {
			out = append(out, x.Gaps...)
		}
	}
	return out
}

// competitors returns the bundle deployments out of scope that are not installed yet. They must be rendered, because an
// object that one of them desires is contested, whatever the scope is. One that names no contents desires nothing yet.
func (r *Reading) competitors(scope []object.DeploymentID) []collect.Bundle {
	var out []collect.Bundle
	for _, d := range r.Directory.Deployments {
		if d.BD == nil || d.BD.Spec.DeploymentID == "" {
			continue
		}
		if d.Problem == directory.NoReleaseRecord && !slices.Contains(scope, d.ID()) {
			b := r.bundle(d)
			b.CompetitorOnly = true
			out = append(out, b)
		}
	}
	return out
}

// bundle returns a bundle to render.
func (r *Reading) bundle(d *directory.Deployment) collect.Bundle {
	i := r.Directory.IndexOf(d)
	return collect.Bundle{Deployment: d, Target: r.Clusters[i].Reader, Latest: r.Directory.Clusters[i].State.Latest,
		Staged: r.options.Staged}
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
	selected := map[object.ClusterID]bool{}
	for _, d := range r.Directory.Deployments {
		if d.Name != name || !d.Placed {
			continue
		}
		if selected[d.ClusterID] {
			return nil, fmt.Errorf("bundle %s: several bundle deployments on this cluster have that name", name)
		}
		found, selected[d.ClusterID] = append(found, d), true
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
	controller := r.controllerVersion(d)
	keyed := controller == nil || !controller.Before(16, 0)
	p := Place(r.Directory, l, d, keyed)
	refused, gaps := l.Validate(controller, r.Directory.ImageScan)
	if refused != "" {
		p.NoTarget, p.Elsewhere = "", nil // no Bundle is made
	}
	in := l.For(p.Cluster, p.Repo, p.Applied, keyed)
	in.Others = p.Others
	in.Gaps, in.Notes = slices.Concat(in.Gaps, p.Gaps, gaps), slices.Concat(in.Notes, p.Notes)
	fromFiles := *d
	fromFiles.Files = &directory.Files{Options: &in.Options, Workspace: p.Workspace(d), Labels: l.BundleLabels(),
		DependsOn: l.DependsOn, Paused: l.Paused, Refused: refused, NoTarget: p.NoTarget, Elsewhere: p.Elsewhere}
	out := r.bundle(&fromFiles)
	out.Files = &in
	return out
}

// controllerVersion returns the version of Fleet's controller; nil if it is not known. A development build beside an
// agent of a release can be one of the branch of that release.
func (r *Reading) controllerVersion(d *directory.Deployment) *fleet.Version {
	tag := r.Directory.ControllerVersion
	_, known := fleet.ParseVersion(tag)
	_, released := fleet.ParseVersion(d.AgentVersion)
	if v, ok := fleet.ParseBuild(tag); ok && (known || !released) {
		return &v
	}
	return nil
}
