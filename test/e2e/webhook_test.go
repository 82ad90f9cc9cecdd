// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// helmMarked gives an object Helm's marks of a bundle's release and nothing else, as helm.takeOwnership leaves it.
func (b *bundle) helmMarked(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	obj.SetAnnotations(map[string]string{"meta.helm.sh/release-name": b.name, "meta.helm.sh/release-namespace": b.options.Namespace})
	return obj
}

// TestWebhookMission is the case that everything began with: an object that is the bundle's for Helm, and for Fleet is missing.
func TestWebhookMission(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.remove(configMap("texts"))
	f.serveWebhook("default")
	cm := b.helmMarked(configMap("texts"))
	cm.Object["data"] = map[string]any{"greeting": "hello"}
	f.Apply(t, "helm", cm)
	expect(t, f.audit("--require-complete"), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
}
