// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them,
// except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system",
	"fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a chart may be installed into a namespace: not into one of the cluster or of Fleet,
// which also has one for each cluster.
func AllowedNamespace(namespace string) bool {
	isFleets := strings.HasPrefix(namespace, "cattle-fleet-") || strings.HasPrefix(namespace, "cluster-fleet-")
	return !isFleets && !slices.Contains(reservedNamespaces, namespace)
}

// Installation is what a cluster has of a chart.
type Installation struct {
	// Namespace is the namespace of the installation, or the one for it.
	Namespace string
	// Named is the namespace that the ClusterRoleBinding of the chart names, which only an administrator can write; ""
	// if it does not exist.
	Named string
	// Release is the name of the Helm release, "" without one.
	Release string
	// Fleet is the Helm release ("namespace/name") with which Fleet deployed it, "" if Fleet did not.
	Fleet string
	// Deployment is nil if it does not exist.
	Deployment *unstructured.Unstructured
}

// Find finds the installation of a chart. Without a namespace, the ClusterRoleBinding names it, and otherwise it is the
// default one. Objects in other namespaces decide nothing, because a tenant can write them.
func (c *Cluster) Find(ctx context.Context, chart Chart, namespace string) (*Installation, error) {
	in := &Installation{Namespace: cmp.Or(namespace, Namespace)}
	binding, err := c.Get(ctx, ClusterRoleBindingKind, "", chart.Name)
	if err != nil {
		return nil, err
	}
	isChart := binding != nil && binding.GetLabels()[NameLabel] == chart.Name
	if isChart && binding.GetDeletionTimestamp() == nil {
		in.Named = chart.accountNamespace(binding)
		in.Namespace = cmp.Or(namespace, in.Named, Namespace)
	}
	if in.Named == in.Namespace {
		in.addRelease(binding)
	}
	in.Deployment, err = c.Get(ctx, DeploymentKind, in.Namespace, chart.Name)
	if in.Deployment != nil {
		in.addRelease(in.Deployment)
	}
	return in, err
}

// accountNamespace returns the namespace of the account of a chart to which a binding grants rights, "" for an object
// that grants it none.
func (c Chart) accountNamespace(o *unstructured.Unstructured) string {
	for _, s := range Decode[rbacv1.ClusterRoleBinding](o).Subjects {
		if s.Kind == rbacv1.ServiceAccountKind && s.Name == c.Name {
			return s.Namespace
		}
	}
	return ""
}

// namespacesIn returns the namespaces that an object names: that of the account to which it grants rights, that of the
// Service to which it sends requests, and that of its Helm release.
func (c Chart) namespacesIn(o *unstructured.Unstructured) []string {
	out := []string{o.GetAnnotations()[fleet.ReleaseNamespaceAnnotation], c.accountNamespace(o)}
	for _, w := range Decode[admissionregistrationv1.ValidatingWebhookConfiguration](o).Webhooks {
		if s := w.ClientConfig.Service; s != nil {
			out = append(out, s.Namespace)
		}
	}
	return slices.DeleteFunc(out, func(n string) bool { return n == "" })
}

// addRelease adds what an object says about the Helm release of its installation.
func (in *Installation) addRelease(o *unstructured.Unstructured) {
	name := o.GetAnnotations()[fleet.ReleaseNameAnnotation]
	in.Release = cmp.Or(in.Release, name)
	if in.Fleet == "" && o.GetLabels()[fleet.HashLabel] != "" {
		in.Fleet = o.GetAnnotations()[fleet.ReleaseNamespaceAnnotation] + "/" + name
	}
}
