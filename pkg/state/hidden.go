// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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
	referred := f.referred(kind)
	exists := len(referred) > 0 || slices.Contains(managementKinds, kind) && f.Any()
	read := slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == kind && len(k.List(f)) > 0 })
	if exists && !read {
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
	return clusterNamespaces(slices.DeleteFunc(slices.Clone(f.Clusters), func(c *v1alpha1.Cluster) bool {
		return c.Namespace != workspace
	}))
}

// Any reports whether any of Fleet's objects was read.
func (f *Fleet) Any() bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return len(k.List(f)) > 0 })
}

// referred returns the namespaces in which other objects name or count objects of a kind, sorted. It is not nil.
func (f *Fleet) referred(kind string) []string {
	out := slices.AppendSeq([]string{}, maps.Keys(f.countedIn()[kind]))
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

// LimitCoverage limits the coverage of each kind that was captured in one namespace alone, although other objects of
// Fleet count objects of the kind in other namespaces. A List in one namespace can be that of kubectl get -n, and does
// not show whether it is.
func (f *Fleet) LimitCoverage() {
	counted := f.countedIn()
	for _, k := range Kinds {
		only, ok := onlyNamespace(k.List(f))
		if !ok || !f.Coverage[k.Name].Whole() {
			continue
		}
		delete(counted[k.Name], only)
		if len(counted[k.Name]) > 0 {
			f.Coverage[k.Name] = source.CoveredIn([]string{only}, source.Failure{Reason: source.NotInSnapshot,
				Detail: "only those of namespace " + only + " were captured, and other objects count more of them"})
		}
	}
}

// onlyNamespace returns the namespace of all objects; ok is false if they are in several, or if there are none.
func onlyNamespace[T interface{ GetNamespace() string }](objects []T) (namespace string, ok bool) {
	for i, o := range objects {
		if i > 0 && o.GetNamespace() != namespace {
			return "", false
		}
		namespace = o.GetNamespace()
	}
	return namespace, namespace != ""
}

// countedIn returns, by kind, the namespaces in which the statuses of other objects count at least one object of the
// kind.
func (f *Fleet) countedIn() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	add := func(kind, namespace string, n int) {
		if out[kind] == nil {
			out[kind] = map[string]bool{}
		}
		if n > 0 && namespace != "" {
			out[kind][namespace] = true
		}
	}
	mapped := map[string]bool{} // the namespaces whose Bundles can have Clusters in other ones
	for _, m := range f.Mappings {
		mapped[m.Namespace] = true
	}
	for _, c := range f.Clusters {
		add(BundleDeployment, c.Status.Namespace, c.Status.Summary.DesiredReady)
		if len(mapped) == 0 {
			add(GitRepo, c.Namespace, ptr.Deref(c.Status.DesiredReadyGitRepos, 0))
			add(HelmOp, c.Namespace, ptr.Deref(c.Status.DesiredReadyHelmOps, 0))
		}
	}
	for _, b := range f.Bundles {
		if !mapped[b.Namespace] {
			add(ClusterKind, b.Namespace, b.Status.Summary.DesiredReady)
		}
	}
	for _, g := range f.GitRepos {
		add(Bundle, g.Namespace, g.Status.Summary.DesiredReady)
	}
	for _, h := range f.HelmOps {
		add(Bundle, h.Namespace, h.Status.Summary.DesiredReady)
	}
	return out
}

// Affected are the live objects of one cluster that a deletion affects.
type Affected struct {
	// CustomResources are the numbers of objects of kinds that deleted CustomResourceDefinitions define. A kind that
	// could not be counted is absent.
	CustomResources map[schema.GroupKind]int
	// Claims are the PersistentVolumeClaims of the namespaces that may lose some.
	Claims         []VolumeClaim
	ClaimsCoverage source.Coverage
	// ReclaimPolicies are those of PersistentVolumes, by name. A volume that could not be read is absent.
	ReclaimPolicies map[string]string
	// Live are the releases ("namespace/name") of the live objects among those that are deleted, according to their
	// annotations; empty without one.
	Live map[object.Key]string
	// LiveCoverage reports, by kind, which of them were read.
	LiveCoverage map[schema.GroupKind]source.Coverage
}

// VolumeClaim is a PersistentVolumeClaim with the name of its PersistentVolume, which is empty if it is not bound.
type VolumeClaim struct{ Namespace, Name, Volume string }

// OfTemplate reports whether the claim is made from a template of a StatefulSet: its name is
// TEMPLATE-STATEFULSET-NUMBER.
func (c *VolumeClaim) OfTemplate(template, set string) bool {
	number, ok := strings.CutPrefix(c.Name, template+"-"+set+"-")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// Absent reports whether an object was looked for and does not exist.
func (a *Affected) Absent(ref object.Ref) bool {
	if a == nil {
		return false
	}
	if _, exists := a.Live[ref.Key()]; exists {
		return false
	}
	_, read := a.LiveCoverage[ref.Key().GroupKind()].Of(ref.Namespace)
	return read
}

// Reported are the objects that the status of a BundleDeployment lists. Its agent owns them.
type Reported struct {
	// Objects is the number of entries, Listed those of kinds whose deletion loses more than the object.
	Objects int
	Listed  []v1alpha1.ObjectKey
	// Truncated is true if the status says that its lists are not complete.
	Truncated bool
}
