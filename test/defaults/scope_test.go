// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestScope compares the table of kinds without a namespace with the server's discovery.
func TestScope(t *testing.T) {
	d, err := discovery.NewDiscoveryClientForConfig(shared.Config())
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[schema.GroupKind]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue // a subresource
			}
			gk := schema.GroupKind{Group: object.Group(list.GroupVersion), Kind: r.Kind}
			served[gk] = true
			if got := object.ClusterScoped(gk); got == r.Namespaced {
				t.Errorf("%s: cluster-scoped %t, but namespaced %t on the server", gk, got, r.Namespaced)
			}
		}
	}
	for group, kinds := range object.ClusterScopedKinds {
		for _, kind := range kinds {
			if gk := (schema.GroupKind{Group: group, Kind: kind}); !served[gk] {
				t.Errorf("%s is not served: the entry cannot be checked", gk)
			}
		}
	}
}
