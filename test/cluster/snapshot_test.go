// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// captured is a snapshot. The order of its file names is not the order in which a server accepts the objects.
var captured = map[string]string{
	"admission.yaml": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: snapshot}
webhooks:
- name: unreachable.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: snapshot}}
  rules: [{apiGroups: [fleet.cattle.io], apiVersions: ["*"], operations: ["*"], resources: ["*/*"]}]
`,
	"bundledeployments.json": `{"apiVersion": "v1", "kind": "List", "items": [{
  "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "BundleDeployment",
  "metadata": {"name": "guestbook", "namespace": "snapshot", "resourceVersion": "77", "generation": 5,
    "uid": "9c5fbb5a-0ae6-4b24-a2c1-5d1e9bd5a0e7", "creationTimestamp": "2026-11-20T07:47:02Z",
    "managedFields": [{"manager": "gone", "operation": "Update", "apiVersion": "fleet.cattle.io/v1alpha1",
      "fieldsType": "FieldsV1", "fieldsV1": {}}],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone",
      "uid": "9c5fbb5a-0ae6-4b24-a2c1-5d1e9bd5a0e8"}]},
  "spec": {"deploymentID": "s-1:2"}, "status": {"release": "guestbook/guestbook:1"}}]}`,
	"crd.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.snapshot.example.com}
spec:
  group: snapshot.example.com
  names: {kind: Part, listKind: PartList, plural: parts, singular: part}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true,
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`,
	"deeper/arrays.yaml": "{apiVersion: snapshot.example.com/v1, kind: Part, metadata: {name: one, namespace: " +
		"snapshot}, status: {phase: Ready}}",
	"deeper/left-out.yaml": `
{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: snapshot}, spec: {containers: [{name: a, image: b}]}}
---
{apiVersion: not-served.example.com/v1, kind: Ghost, metadata: {name: one}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, labels: {not: loaded}}}
`,
	"quota.yaml": "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: snapshot}, spec: {hard: " +
		"{services: 0}}}",
	"services.json": `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "with-ip", "namespace": "snapshot"},
   "spec": {"type": "LoadBalancer", "clusterIP": "172.20.0.9", "clusterIPs": ["172.20.0.9"], "ports": [{"port": 80}]},
   "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}},
  {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "headless", "namespace": "snapshot"},
   "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}]}`,
	"zz-namespace.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: snapshot, labels: {stated: label}}, " +
		"status: {phase: Active}}",
}

func TestLoadSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range captured {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shared.LoadSnapshot(t, dir)

	got := get(t, object("fleet.cattle.io/v1alpha1", "BundleDeployment", "snapshot", "guestbook"))
	if got.GetUID() == "9c5fbb5a-0ae6-4b24-a2c1-5d1e9bd5a0e7" || len(got.GetOwnerReferences()) > 0 {
		t.Errorf("uid %s and owners %v are of the captured cluster", got.GetUID(), got.GetOwnerReferences())
	}
	for _, want := range []struct {
		obj   *unstructured.Unstructured
		field []string
		value any
	}{
		{got, []string{"spec"}, map[string]any{"deploymentID": "s-1:2"}},
		{got, []string{"status"}, map[string]any{"release": "guestbook/guestbook:1"}},
		{object("snapshot.example.com/v1", "Part", "snapshot", "one"), []string{"status", "phase"}, "Ready"},
		{object("v1", "Namespace", "", "snapshot"), []string{"metadata", "labels", "stated"}, "label"},
		{object("v1", "Namespace", "", "kube-system"), []string{"metadata", "labels", "not"}, nil},
		{object("v1", "ResourceQuota", "snapshot", "none"), []string{"spec", "hard", "services"}, "0"},
		{object("v1", "Service", "snapshot", "headless"), []string{"spec", "clusterIP"}, "None"},
		{object("v1", "Service", "snapshot", "with-ip"), []string{"status", "loadBalancer", "ingress"},
			[]any{map[string]any{"ip": "192.0.2.1", "ipMode": "VIP"}}},
		{object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "snapshot"), []string{"kind"},
			"ValidatingWebhookConfiguration"},
	} {
		value, _, _ := unstructured.NestedFieldNoCopy(get(t, want.obj).Object, want.field...)
		if diff := cmp.Diff(want.value, value); diff != "" {
			t.Errorf("%s %s, %v (-want +got):\n%s", want.obj.GetKind(), want.obj.GetName(), want.field, diff)
		}
	}
	pods := list("v1", "PodList")
	if err := shared.Client().List(t.Context(), pods, client.InNamespace("snapshot")); err != nil ||
		len(pods.Items) > 0 {
		t.Errorf("%d pods were loaded, want none (%v)", len(pods.Items), err)
	}

	hook := object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "snapshot")
	if err := shared.Client().Delete(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	// the server calls the deleted webhook for a moment
	poll.Until(t, func() error { return shared.RemoveNamespace(t.Context(), "snapshot") })
}
