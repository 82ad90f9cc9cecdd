// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const liveConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hook, uid: u-1, resourceVersion: "7", labels: {a: b}}
webhooks:
- {name: a, failurePolicy: Ignore, clientConfig: {service: {name: s, namespace: n}, caBundle: b2xk}}
- {name: b, failurePolicy: Ignore, clientConfig: {url: "https://192.0.2.1/b"}}
`

// TestBundlePatch checks that the patch contains the caBundle of each webhook and no other field, and the resource
// version; and that no patch is made if nothing changes.
func TestBundlePatch(t *testing.T) {
	const authority = "new"
	configuration := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		live := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(liveConfiguration), &live.Object); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(live)
		}
		return live
	}
	bundle := base64.StdEncoding.EncodeToString([]byte(authority))
	want := map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": map[string]any{"name": "hook", "uid": "u-1", "resourceVersion": "7"},
		"webhooks": []any{map[string]any{"name": "a", "clientConfig": map[string]any{"caBundle": bundle}},
			map[string]any{"name": "b", "clientConfig": map[string]any{"caBundle": bundle}}}}
	if diff := cmp.Diff(want, bundlePatch(configuration(nil), []byte(authority)).Object); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*unstructured.Unstructured){
		"the authority is set": func(u *unstructured.Unstructured) { u.Object["webhooks"] = want["webhooks"] },
		"no webhooks":          func(u *unstructured.Unstructured) { delete(u.Object, "webhooks") },
		"being deleted": func(u *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(u.Object, "2026-11-20T08:00:00Z", "metadata",
				"deletionTimestamp"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if patch := bundlePatch(configuration(change), []byte(authority)); patch != nil {
			t.Errorf("%s: got the patch %v", name, patch.Object)
		}
	}
}
