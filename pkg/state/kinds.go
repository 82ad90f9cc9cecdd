// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
	Of func(f *Fleet) []v1alpha1.Object
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
		for _, o := range kind.Of(f) {
			if at := o.GetDeletionTimestamp(); at != nil {
				out = append(out, Deleting{kind.Name, o.GetNamespace(), o.GetName(), at.Time, o.GetFinalizers(),
					o.GetLabels()[fleet.ShardLabel]})
			}
		}
	}
	return append(out, f.Contents.Deleting...)
}
