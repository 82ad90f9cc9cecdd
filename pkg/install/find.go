// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	ofFleet := strings.HasPrefix(namespace, "cattle-fleet-") || strings.HasPrefix(namespace, "cluster-fleet-")
	return !ofFleet && !slices.Contains(reservedNamespaces, namespace)
}

// Installation is what a cluster has of a chart.
type Installation struct {
	// Namespace is "" if there is no installation.
	Namespace string
	// Release is the name of the Helm release, "" without one.
	Release string
	// Fleet is the Helm release ("namespace/name") with which Fleet deployed it, "" if Fleet did not.
	Fleet string
	// Old reports that a version of this program before its chart, or kubectl with its kustomizations, installed it.
	Old bool
}

// Find completes what is known of the installation of a chart: by its Deployment, unless its namespace is known.
func (c *Cluster) Find(ctx context.Context, of Chart, known Installation) (*Installation, error) {
	in := &known
	if in.Namespace != "" {
		return in, nil
	}
	byLabel := metav1.ListOptions{LabelSelector: of.Selector()}
	for d, err := range c.List(ctx, DeploymentKind, metav1.NamespaceAll, byLabel) {
		if err != nil {
			return nil, err
		}
		if d.GetName() == of.Name && d.GetDeletionTimestamp() == nil {
			in.Add(d)
		}
	}
	return in, nil
}

// Add adds what an object says about its installation.
func (in *Installation) Add(o *unstructured.Unstructured) {
	a := o.GetAnnotations()
	in.Namespace = cmp.Or(in.Namespace, o.GetNamespace(), a[fleet.ReleaseNamespaceAnnotation])
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
