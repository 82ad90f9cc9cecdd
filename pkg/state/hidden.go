// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// managementKinds are the kinds of which every management cluster has objects.
var managementKinds = []string{BundleDeployment, Bundle, GitRepo, ClusterKind, ClusterGroup}

// Needed returns the coverage of the objects of a kind that are known to exist. A snapshot does not have the kinds of
// which the cluster has no object. So it lacks objects of a kind only if other objects show that there are some.
func (f *Fleet) Needed(kind string) source.Coverage {
	cover := f.Coverage[kind]
	rest := cover.Failures()["*"]
	switch rest.Reason {
	case source.KindNotServed:
		return source.Covered()
	case source.NotInSnapshot:
	default:
		return cover
	}
	referred, read := f.referred(kind), len(f.of(kind)) > 0
	if !read && (len(referred) > 0 || f.mustHave(kind)) {
		return cover
	}
	return cover.Within(referred)
}

// InWorkspace returns the namespaces of a kind that belong to a workspace; nil if they are not known, without a
// workspace, and for a kind that has no namespaces.
func (f *Fleet) InWorkspace(kind, workspace string) []string {
	switch {
	case workspace == "", kind == Namespace, kind == BundleDeployment && !f.Read(ClusterKind, workspace):
		return nil
	case kind != BundleDeployment:
		return []string{workspace}
	}
	var in []*v1alpha1.Cluster
	for _, c := range f.Clusters {
		if c.Namespace == workspace {
			in = append(in, c)
		}
	}
	return clusterNamespaces(in)
}

// mustHave reports whether this is a management cluster and every management cluster has objects of the kind.
func (f *Fleet) mustHave(kind string) bool {
	return slices.Contains(managementKinds, kind) && f.Any()
}

// Any reports whether any of Fleet's objects was read.
func (f *Fleet) Any() bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return len(k.Of(f)) > 0 })
}

// of returns the objects of one of Fleet's kinds that were read.
func (f *Fleet) of(kind string) []v1alpha1.Object {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == kind })
	if i < 0 {
		return nil
	}
	return Kinds[i].Of(f)
}

// referred returns the namespaces in which other objects name or count objects of a kind, sorted. It is not nil.
func (f *Fleet) referred(kind string) []string {
	out := []string{}
	for ns := range f.countedIn()[kind] {
		out = append(out, ns)
	}
	if kind == BundleDeployment {
		out = append(out, f.ClusterNamespaces()...) // Fleet deploys at least the agent there
	}
	for _, bd := range f.BundleDeployments {
		out = append(out, namedBy(bd.Labels, kind)...)
	}
	for _, b := range f.Bundles {
		if namesParent(b.Labels, kind) {
			out = append(out, b.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namedBy returns the namespace of the object of a kind that the labels of a BundleDeployment name.
func namedBy(labels map[string]string, kind string) []string {
	ns := ""
	switch {
	case kind == ClusterKind:
		ns = labels[fleet.ClusterNamespaceLabel]
	case kind == Bundle, namesParent(labels, kind):
		ns = labels[fleet.BundleNamespaceLabel]
	}
	if ns == "" {
		return nil
	}
	return []string{ns}
}

// namesParent reports whether labels of a Bundle, or of its BundleDeployment, name its GitRepo or HelmOp.
func namesParent(labels map[string]string, kind string) bool {
	switch kind {
	case GitRepo:
		return labels[fleet.RepoLabel] != ""
	case HelmOp:
		return labels[fleet.HelmOpLabel] != "" && labels[fleet.RepoLabel] == ""
	}
	return false
}
