// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// reservedNamespaces belong to the cluster or to Fleet. The API server does not call the webhook for objects in them,
// except in default.
var reservedNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", "cattle-system",
	"fleet-system", "fleet-clusters-system", "fleet-default", "fleet-local"}

// AllowedNamespace reports whether a webhook may be installed into a namespace: not into one of the cluster or of
// Fleet, which also has one for each cluster.
func AllowedNamespace(namespace string) bool {
	ofFleet := strings.HasPrefix(namespace, "cattle-fleet-") || strings.HasPrefix(namespace, "cluster-fleet-")
	return !ofFleet && !slices.Contains(reservedNamespaces, namespace)
}

// Installation is the webhook that a cluster has.
type Installation struct {
	// Namespace is "" if there is no installation.
	Namespace string
	// Release is the name of the Helm release, "" without one.
	Release string
	// Fleet is the Helm release ("namespace/name") with which Fleet deployed it, "" if Fleet did not.
	Fleet string
	// Old reports that a version of this program before its chart, or kubectl with its kustomizations, installed it.
	Old            bool
	Configurations []*unstructured.Unstructured
}

// Configurations returns the webhook configurations with the inventory label, whatever their name. No webhook is called
// for these requests.
func (c *Cluster) Configurations(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{mutatingKind, validatingKind} {
		for o, err := range c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// Find finds the installation of the cluster by its configurations, or without them by its Deployment.
func (c *Cluster) Find(ctx context.Context) (*Installation, error) {
	configurations, err := c.Configurations(ctx)
	if err != nil {
		return nil, err
	}
	return c.FindBy(ctx, configurations)
}

// FindBy is Find with configurations that were read.
func (c *Cluster) FindBy(ctx context.Context, configurations []*unstructured.Unstructured) (*Installation, error) {
	in := &Installation{Configurations: configurations}
	for _, o := range configurations {
		in.add(o)
	}
	if in.Namespace != "" {
		return in, nil
	}
	for d, err := range c.List(ctx, deploymentKind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
		if err != nil {
			return nil, err
		}
		if d.GetName() == Name && d.GetDeletionTimestamp() == nil {
			in.add(d)
		}
	}
	return in, nil
}

// add adds what an object says about its installation.
func (in *Installation) add(o *unstructured.Unstructured) {
	a := o.GetAnnotations()
	in.Namespace = cmp.Or(in.Namespace, o.GetNamespace(), a[fleet.ReleaseNamespaceAnnotation])
	for _, w := range webhooksOf(o) {
		if s := w.ClientConfig.Service; s != nil {
			in.Namespace = cmp.Or(in.Namespace, s.Namespace)
		}
	}
	in.Release = cmp.Or(in.Release, a[fleet.ReleaseNameAnnotation])
	in.Fleet = cmp.Or(in.Fleet, ReleaseOf(o))
	in.Old = in.Old || o.GetLabels()[managedBy] != helmManager
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
