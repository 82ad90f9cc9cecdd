// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRepairCreatesOnlyMissing has another program create an object just before repair would. It is left as it is, also
// by the undo, and also if it has all fields that repair would write.
func TestRepairCreatesOnlyMissing(t *testing.T) {
	eachMethod(t, func(t *testing.T, b *bundle) {
		t.Helper()
		for name, data := range map[string]map[string]string{"other data": {"mine": "yes"},
			"the same data": {"colour": "blue"}} {
			t.Run(name, func(t *testing.T) {
				settings, p := configMap("settings"), b.proxy()
				b.remove(settings)
				var once sync.Once
				p.onRequest(func(r *http.Request) {
					writes := r.Method == http.MethodPost || r.Method == http.MethodPatch
					if !writes || !strings.Contains(r.URL.Path, "/configmaps") {
						return
					}
					once.Do(func() {
						other := &unstructured.Unstructured{Object: configMap("settings").Object}
						if err := unstructured.SetNestedStringMap(other.Object, data, "data"); err != nil {
							t.Error(err)
						}
						if err := b.Client().Create(t.Context(), other); err != nil {
							t.Error(err)
						}
						settings = b.get(other)
					})
				})
				done := b.repair("--yes", "--code", "FD101", "--kubeconfig", p.kubeconfig)
				expectSteps(t, done, 3, allOf("Create Changed", settings))
				b.expectUnchanged(settings)
				expectSteps(t, b.repair("--yes", "--undo", done.receipt), 1, allOf("Refuse", settings))
				b.expectUnchanged(settings)

				b.remove(settings)
				expectSteps(t, b.repair("--yes", "--code", "FD101"), 0, allOf("Create Done", settings))
			})
		}
	})
}
