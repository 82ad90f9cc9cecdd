// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"cmp"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestChart checks that the chart renders the objects of the kustomizations, but for the Namespace.
func TestChart(t *testing.T) {
	namespaces := []any{"guestbook", "shop"}
	for overlay, values := range map[string]map[string]any{
		"default":      nil,
		"exact":        {"exact": true},
		"cert-manager": {"certificates": "cert-manager"},
		"scoped":       {"releaseNamespaces": namespaces},
		"all":          {"exact": true, "certificates": "cert-manager", "releaseNamespaces": namespaces, "guardDefault": "deny"},
	} {
		got, err := installation.RenderChart(systemNamespace, values)
		if err != nil {
			t.Fatal(err)
		}
		var want []any
		for _, u := range rendered(t, overlay) {
			if u.GetKind() != "Namespace" {
				want = append(want, u.Object)
			}
		}
		var all []any
		for _, u := range got {
			unstructured.RemoveNestedField(u.Object, "metadata", "labels", "app.kubernetes.io/managed-by")
			all = append(all, u.Object)
		}
		sorted := cmpopts.SortSlices(func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		mode := cmpopts.IgnoreSliceElements(func(a any) bool { return a == "--guard-default=warn" }) // the default
		if diff := gocmp.Diff(want, all, sorted, mode); diff != "" {
			t.Errorf("%s (-overlay +chart):\n%s", overlay, diff)
		}
	}
}
