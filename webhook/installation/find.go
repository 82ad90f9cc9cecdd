// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// Configurations returns the webhook configurations with the inventory label, whatever their name. No webhook is called
// for these requests.
func Configurations(ctx context.Context, c *install.Cluster) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionKind{install.MutatingKind, install.ValidatingKind} {
		for o, err := range c.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}
