// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// TestFieldManager checks that an installation writes as the command helm does, so that helm upgrade and helm rollback
// find no conflict.
func TestFieldManager(t *testing.T) {
	installed(t, "managed", monitored)
	for _, kind := range auditor.Chart.Kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		err := shared.Client().List(t.Context(), list, client.MatchingLabels{install.NameLabel: auditor.Name})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			for _, m := range o.GetManagedFields() {
				if m.Manager != "helm" || m.Operation != "Apply" {
					t.Errorf("%s %s: manager %s (%s)", kind.Kind, o.GetName(), m.Manager, m.Operation)
				}
			}
		}
	}
}
