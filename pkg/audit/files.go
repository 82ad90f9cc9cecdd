// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
)

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
		if d.Name != name || !d.Placed {
			continue
		}
		if on[d.ClusterID] {
			return nil, fmt.Errorf("bundle %s: several bundle deployments on this cluster have that name", name)
		}
		found, on[d.ClusterID] = append(found, d), true
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
