// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them,
// except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system",
	"fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a chart may be installed into a namespace: not into one of the cluster or of Fleet,
// which also has one for each cluster.
func AllowedNamespace(namespace string) bool {
	ofFleet := strings.HasPrefix(namespace, "cattle-fleet-") || strings.HasPrefix(namespace, "cluster-fleet-")
	return !ofFleet && !slices.Contains(reservedNamespaces, namespace)
}

// Installation is what a cluster has of a chart.
type Installation struct {
	// Namespace is the namespace of the installation, or the one for it.
	Namespace string
	// Named reports that an object that only an administrator can write names the namespace.
	Named bool
	// Others are the other namespaces that such objects name, with the names of these objects.
	Others map[string][]string
	// Release is the name of the Helm release, "" without one.
	Release string
	// Fleet is the Helm release ("namespace/name") with which Fleet deployed it, "" if Fleet did not.
	Fleet string
	// Old reports that a version of this program before its chart, or kubectl with its kustomizations, installed it.
	Old bool
}

// AmbiguousError is the error if the objects that only an administrator can write name several namespaces.
type AmbiguousError struct {
	// Named are the names of these objects, by namespace.
	Named map[string][]string
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	var all []string
	for _, namespace := range slices.Sorted(maps.Keys(e.Named)) {
		all = append(all, namespace+" ("+strings.Join(e.Named[namespace], ", ")+")")
	}
	return "the cluster-scoped objects name several namespaces of an installation: " + strings.Join(all, ", ")
}

// Find finds the installation of a chart. Without a namespace, cluster-scoped objects name it, and otherwise it is the
// default one. Objects in other namespaces decide nothing, because a tenant can write them.
func (c *Cluster) Find(ctx context.Context, of Chart, namespace string) (*Installation, error) {
	naming, err := c.naming(ctx, of)
	if err != nil {
		return nil, err
	}
	named := map[string][]string{}
	for _, o := range naming {
		for _, n := range of.namespacesIn(o) {
			named[n] = append(named[n], o.GetKind()+" "+o.GetName())
		}
	}
	if namespace == "" && len(named) > 1 {
		return nil, &AmbiguousError{named}
	}
	for n := range named { // at most one without a namespace
		namespace = cmp.Or(namespace, n)
	}
	in := &Installation{Namespace: cmp.Or(namespace, Namespace), Named: named[namespace] != nil, Others: named}
	delete(in.Others, in.Namespace)
	for _, o := range naming {
		if slices.Contains(of.namespacesIn(o), in.Namespace) {
			in.add(o)
			in.Old = in.Old || o.GetLabels()[managedBy] != helmManager
		}
	}
	deployment, err := c.Get(ctx, RefTo(DeploymentKind, in.Namespace, of.Name))
	if err != nil {
		return nil, err
	}
	if deployment != nil {
		in.add(deployment)
	}
	return in, nil
}

// naming returns the cluster-scoped objects of a chart that name the namespace of its installation.
func (c *Cluster) naming(ctx context.Context, of Chart) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{ClusterRoleBindingKind, MutatingKind, ValidatingKind} {
		if !slices.Contains(of.Kinds, kind) {
			continue
		}
		o, err := c.Get(ctx, RefTo(kind, "", of.Name))
		if err != nil {
			return nil, err
		}
		if o != nil && o.GetLabels()[NameLabel] == of.Name && o.GetDeletionTimestamp() == nil {
			out = append(out, o)
		}
	}
	return out, nil
}

// namespacesIn returns the namespaces that an object names: that of the account to which it grants rights, that of the
// Service to which it sends requests, and that of its Helm release.
func (c Chart) namespacesIn(o *unstructured.Unstructured) []string {
	out := []string{o.GetAnnotations()[fleet.ReleaseNamespaceAnnotation]}
	for _, s := range Decode[rbacv1.ClusterRoleBinding](o).Subjects {
		if s.Kind == rbacv1.ServiceAccountKind && s.Name == c.Name {
			out = append(out, s.Namespace)
		}
	}
	for _, w := range Decode[admissionregistrationv1.ValidatingWebhookConfiguration](o).Webhooks {
		if s := w.ClientConfig.Service; s != nil {
			out = append(out, s.Namespace)
		}
	}
	out = slices.DeleteFunc(out, func(n string) bool { return n == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// add adds what an object says about the Helm release of its installation.
func (in *Installation) add(o *unstructured.Unstructured) {
	in.Release = cmp.Or(in.Release, o.GetAnnotations()[fleet.ReleaseNameAnnotation])
	in.Fleet = cmp.Or(in.Fleet, ReleaseOf(o))
}

// ReleaseOf returns the Helm release ("namespace/name") with which Fleet deployed an object, "" if Fleet did not or if
// the object is nil.
func ReleaseOf(o *unstructured.Unstructured) string {
	if o == nil || o.GetLabels()[fleet.HashLabel] == "" {
		return ""
	}
	a := o.GetAnnotations()
	return a[fleet.ReleaseNamespaceAnnotation] + "/" + a[fleet.ReleaseNameAnnotation]
}
