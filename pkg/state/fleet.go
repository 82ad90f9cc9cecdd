// SPDX-License-Identifier: Apache-2.0

// Package state has the data that was read, before it is evaluated: Fleet is the data of a management cluster, Cluster
// that of one cluster to which bundles are deployed. It decodes objects and does no I/O. A value is not changed once
// everything was added.
package state

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
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
	Schedules         []*v1alpha1.Schedule
	ImageScans        []*v1alpha1.ImageScan
	Registrations     []*v1alpha1.ClusterRegistration
	// NamespaceLabels are the labels of the Namespaces with Clusters, by name. They are read only if a mapping needs
	// them.
	NamespaceLabels map[string]map[string]string

	// ClusterNamespacesFound are the namespaces that Fleet made for the BundleDeployments of Clusters, by name. They
	// are only read to find those of Clusters that are gone.
	ClusterNamespacesFound map[string]ClusterNamespace

	// Contents are only read if a BundleDeployment needs one.
	Contents Contents
	// ControllerVersion is the image tag of fleet-controller, empty if it is not known.
	ControllerVersion string
	// ImageScan is whether the controller scans images, Scheduling whether it processes Schedules; nil if that is not
	// known.
	ImageScan, Scheduling *bool
	// Agents decides whether the controller imports the agents of Clusters again.
	Agents Agents
	// Coverage reports, by kind, which of these objects were read.
	Coverage map[string]source.Coverage
	// Values are the values Secrets; nil if they were not read.
	Values *Values

	// controllers are the Deployments with the names of Fleet's controllers, by name and namespace. Only those that
	// matter are read.
	controllers     map[string]map[string]Workload
	controllersRead map[string]bool
}

// Read reports whether all objects of a kind in a namespace were read. The namespace "" stands for all namespaces.
func (f *Fleet) Read(kind, namespace string) bool {
	if namespace == "" && kind != Namespace { // which has no namespace
		return f.Coverage[kind].Whole()
	}
	_, all := f.Coverage[kind].Of(namespace)
	return all
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

// Addresses returns the addresses of API servers that the configuration and the statuses of Clusters have. They are not
// secret, although Secrets have them too. An address with credentials is.
func (f *Fleet) Addresses() []string {
	var out []string
	add := func(address string) {
		if escape.IsPublic(address) {
			out = append(out, address)
		}
	}
	for _, c := range f.Agents.Configs {
		if c.Config != nil {
			add(c.APIServerURL)
		}
	}
	for _, c := range f.Clusters {
		add(c.Status.APIServerURL)
	}
	return out
}

// ContentIDs returns the names of the Contents that BundleDeployments need, each with these BundleDeployments.
func (f *Fleet) ContentIDs() map[string][]*v1alpha1.BundleDeployment {
	out := map[string][]*v1alpha1.BundleDeployment{}
	for _, bd := range f.BundleDeployments {
		if id := ContentID(bd); id != "" {
			out[id] = append(out[id], bd)
		}
	}
	return out
}

// RecordsAlone reports whether there is a record of Fleet, or one that could not be read, of a release that none of
// these BundleDeployments names.
func (c *Cluster) RecordsAlone(f *Fleet) bool {
	named := map[string]bool{}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			named[n.Release()] = true
		}
	}
	for n := range c.Records {
		if !named[n.Release()] {
			return true
		}
	}
	return false
}

// NeedsNamespaces reports whether the targets of a bundle depend on the labels of Namespaces.
func (f *Fleet) NeedsNamespaces() bool {
	return len(targeting.NamespaceSelectors(f.Mappings, f.Bundles)) > 0
}

// Workspaces returns the namespaces with Clusters.
func (f *Fleet) Workspaces() map[string]bool {
	out := map[string]bool{}
	for _, c := range f.Clusters {
		out[c.Namespace] = true
	}
	return out
}

// Targeting prepares the computation of the clusters that bundles target.
func (f *Fleet) Targeting() *targeting.Fleet {
	return targeting.New(targeting.Input{Clusters: f.Clusters, Groups: f.ClusterGroups, Mappings: f.Mappings,
		Namespaces: f.NamespaceLabels, Version: f.ControllerVersion, Read: f.Read})
}

// Kinds are Fleet's kinds that are read, except for those in OtherKinds. It is the only table of them.
var Kinds = []Kind{
	kind(BundleDeployment, "bundledeployments",
		func(f *Fleet) *[]*v1alpha1.BundleDeployment { return &f.BundleDeployments }, "bd"),
	kind(Bundle, "bundles", func(f *Fleet) *[]*v1alpha1.Bundle { return &f.Bundles }),
	kind(GitRepo, "gitrepos", func(f *Fleet) *[]*v1alpha1.GitRepo { return &f.GitRepos }),
	kind(HelmOp, "helmops", func(f *Fleet) *[]*v1alpha1.HelmOp { return &f.HelmOps }),
	kind(ClusterKind, "clusters", func(f *Fleet) *[]*v1alpha1.Cluster { return &f.Clusters }),
	kind(ClusterGroup, "clustergroups", func(f *Fleet) *[]*v1alpha1.ClusterGroup { return &f.ClusterGroups }),
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
	List func(f *Fleet) []v1alpha1.Object
	// Append adds an object of the kind that was read before.
	Append func(f *Fleet, o v1alpha1.Object)
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
		List: func(f *Fleet) []v1alpha1.Object {
			var out []v1alpha1.Object
			for _, o := range *objects(f) {
				out = append(out, o)
			}
			return out
		},
		Append: func(f *Fleet, o v1alpha1.Object) {
			if x, ok := o.(P); ok {
				list := objects(f)
				*list = append(*list, x)
			}
		},
	}
}

// features are the kinds whose objects the controller ignores unless their feature is switched on.
var features = []Kind{
	kind(Schedule, "schedules", func(f *Fleet) *[]*v1alpha1.Schedule { return &f.Schedules }),
	kind(ImageScan, "imagescans", func(f *Fleet) *[]*v1alpha1.ImageScan { return &f.ImageScans }),
}

// Subjects are the kinds of the objects that can be asked about, with or without bundle deployments.
var Subjects = slices.Concat(Kinds, features)

// OtherKinds are Fleet's kinds that are read, and for which the report has no row.
var OtherKinds = append([]Kind{
	otherKind(BundleNamespaceMapping, func(f *Fleet) *[]*v1alpha1.BundleNamespaceMapping { return &f.Mappings }),
	otherKind(ClusterRegistration, func(f *Fleet) *[]*v1alpha1.ClusterRegistration { return &f.Registrations }),
}, features...)

func otherKind[T any](name string, objects func(*Fleet) *[]*T) Kind {
	return Kind{Name: name, Add: func(f *Fleet, raw []byte) error {
		o := new(T)
		if err := object.Into(raw, o); err != nil {
			return err
		}
		*objects(f) = append(*objects(f), o)
		return nil
	}}
}

// Deleting returns Fleet's objects that are being deleted, by kind, in the order in which they were read.
func (f *Fleet) Deleting() []Deleting {
	var out []Deleting
	for _, kind := range Kinds {
		if kind.Name == ClusterGroup {
			continue // it has no finalizer
		}
		for _, o := range kind.List(f) {
			if when := o.GetDeletionTimestamp(); when != nil {
				out = append(out, Deleting{kind.Name, o.GetNamespace(), o.GetName(), when.Time, o.GetFinalizers(),
					o.GetLabels()[fleet.ShardLabel]})
			}
		}
	}
	return append(out, f.Contents.Deleting...)
}
