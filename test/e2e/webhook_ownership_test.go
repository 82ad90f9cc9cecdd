// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withHelmOwnership gives an object only Helm's ownership metadata of the bundle's release, as helm.takeOwnership
// leaves it.
func (b *bundle) withHelmOwnership(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	obj.SetAnnotations(map[string]string{"meta.helm.sh/release-name": b.name,
		"meta.helm.sh/release-namespace": b.options.Namespace})
	return obj
}

// TestWebhookAddsOwnership creates an object with Helm's metadata only, which Fleet without the webhook reports as
// missing.
func TestWebhookAddsOwnership(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.remove(configMap("texts"))
	f.serveWebhook("default")
	cm := b.withHelmOwnership(configMap("texts"))
	cm.Object["data"] = map[string]any{"greeting": "hello"}
	f.Apply(t, "helm", cm)
	expect(t, f.audit("--require-complete"), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
}
