// SPDX-License-Identifier: Apache-2.0

// Package state has the data that was read, before it is evaluated: Fleet is the data of a management cluster, Cluster
// that of one cluster to which bundles are deployed. It decodes objects and does no I/O. A value is not changed once
// everything was added.
package state

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Fleet has Fleet's objects on one management cluster. Its Add methods must not be called concurrently.
type Fleet struct {
	BundleDeployments []*v1alpha1.BundleDeployment
	Bundles           []*v1alpha1.Bundle
	GitRepos          []*v1alpha1.GitRepo
	HelmOps           []*v1alpha1.HelmOp
	Clusters          []*v1alpha1.Cluster
	ClusterGroups     []*v1alpha1.ClusterGroup
	Mappings          []*v1alpha1.BundleNamespaceMapping
	// NamespaceLabels are the labels of the Namespaces with Clusters, by name. They are read only if a mapping needs
	// them.
	NamespaceLabels map[string]map[string]string

	// ClusterNamespacesFound are the namespaces that Fleet made for the BundleDeployments of Clusters, by name. They
	// are only read to find those of Clusters that are gone.
	ClusterNamespacesFound map[string]ClusterNamespace

	// Contents are only read if a BundleDeployment needs one.
	Contents Contents
	// Controllers are the Deployments of Fleet's controllers by name, nil for one that does not exist. Only those that
	// matter are read.
	Controllers map[string]*Workload

	// ControllerVersion is the image tag of fleet-controller, empty if it was not read.
	ControllerVersion string
	// ImageScan is whether the controller scans images; nil if that is not known.
	ImageScan *bool
	// Agents decides whether the controller imports the agents of Clusters again.
	Agents Agents
	// Coverage reports, by kind, which of these objects were read.
	Coverage map[string]source.Coverage
	// Values are the values Secrets; nil if they were not read.
	Values *Values
}

// Read reports whether all objects of a kind in a namespace were read. The namespace "" stands for all namespaces.
func (f *Fleet) Read(kind, namespace string) bool {
	if namespace == "" && kind != Namespace { // which has no namespace
		return f.Coverage[kind].Whole()
	}
	_, all := f.Coverage[kind].Of(namespace)
	return all
}

// AddController adds the Deployment of fleet-controller, given as JSON.
func (f *Fleet) AddController(raw []byte) error {
	namespace, _, w, err := readWorkload(kindDeployment, raw)
	if err == nil {
		f.ControllerVersion, f.ImageScan, f.Agents.ControllerNamespace = w.Version, w.ImageScan, namespace
	}
	return err
}

// ClusterNamespaces returns the namespaces of the Clusters' BundleDeployments, sorted.
func (f *Fleet) ClusterNamespaces() []string {
	return clusterNamespaces(f.Clusters)
}

// clusterNamespaces returns the namespaces of the BundleDeployments of Clusters, sorted. It is not nil.
func clusterNamespaces(clusters []*v1alpha1.Cluster) []string {
	out := []string{}
	for _, c := range clusters {
		if ns := c.Status.Namespace; ns != "" {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SecretNamespaces returns the namespaces of the agents' Secrets and of the release records that Fleet's objects name.
func (f *Fleet) SecretNamespaces() (agents, releases []string) {
	for _, c := range f.Clusters {
		if ns := c.Status.Agent.Namespace; ns != "" {
			agents = append(agents, ns)
		}
	}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			releases = append(releases, n.Namespace)
		}
	}
	slices.Sort(releases)
	return agents, slices.Compact(releases)
}

// Kind is one of Fleet's kinds.
type Kind struct {
	Name string // "GitRepo"
	// Resource is the plural name in the API's paths, ShortNames are other names that kubectl accepts.
	Resource   string
	ShortNames []string

	// Add adds an object of the kind, given as JSON. It keeps nothing of raw.
	Add func(f *Fleet, raw []byte) error
	// Of returns the objects of the kind.
	Of func(f *Fleet) []v1alpha1.Object
}

// The names of the kinds.
const (
	BundleDeployment = "BundleDeployment"
	Bundle           = "Bundle"
	GitRepo          = "GitRepo"
	HelmOp           = "HelmOp"
	ClusterKind      = "Cluster"
	ClusterGroup     = "ClusterGroup"
)

// Kinds are Fleet's kinds that are read. It is the only table of them.
var Kinds = []Kind{
	kind(BundleDeployment, "bundledeployments",
		func(f *Fleet) *[]*v1alpha1.BundleDeployment { return &f.BundleDeployments }, "bd"),
	kind(Bundle, "bundles", func(f *Fleet) *[]*v1alpha1.Bundle { return &f.Bundles }),
	kind(GitRepo, "gitrepos", func(f *Fleet) *[]*v1alpha1.GitRepo { return &f.GitRepos }),
	kind(HelmOp, "helmops", func(f *Fleet) *[]*v1alpha1.HelmOp { return &f.HelmOps }),
	kind(ClusterKind, "clusters", func(f *Fleet) *[]*v1alpha1.Cluster { return &f.Clusters }),
	kind(ClusterGroup, "clustergroups", func(f *Fleet) *[]*v1alpha1.ClusterGroup { return &f.ClusterGroups }),
}

func kind[T any, P interface {
	*T
	v1alpha1.Object
}](name, resource string, objects func(*Fleet) *[]P, short ...string) Kind {
	return Kind{
		Name: name, Resource: resource, ShortNames: short,
		Add: func(f *Fleet, raw []byte) error {
			o := P(new(T))
			if err := object.Into(raw, o); err != nil {
				return err
			}
			if bd, ok := any(o).(*v1alpha1.BundleDeployment); ok {
				fleet.Trim(&bd.Status)
			}
			list := objects(f)
			*list = append(*list, o)
			return nil
		},
		Of: func(f *Fleet) []v1alpha1.Object {
			var out []v1alpha1.Object
			for _, o := range *objects(f) {
				out = append(out, o)
			}
			return out
		},
	}
}
