// SPDX-License-Identifier: Apache-2.0

package state

import (
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// LimitCoverage limits the coverage of each kind that was captured in one namespace alone, although other objects of
// Fleet count objects of the kind in other namespaces. A List in one namespace can be that of kubectl get -n, and does
// not show whether it is.
func (f *Fleet) LimitCoverage() {
	counted := f.countedIn()
	for _, k := range Kinds {
		only, ok := onlyNamespace(k.Of(f))
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
