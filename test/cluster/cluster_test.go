// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Run(m, &shared, cluster.WithFleetCRDs())) }

func TestVersions(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), shared.Kubectl(), "--kubeconfig", shared.Kubeconfig(t), "version",
		"-o", "json").Output()
	if err != nil {
		t.Fatalf("running kubectl: %v", err)
	}
	type version struct{ Major, Minor, GitVersion string }
	var got struct{ ClientVersion, ServerVersion version }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.ClientVersion != got.ServerVersion {
		t.Errorf("kubectl is %v, the server %v", got.ClientVersion, got.ServerVersion)
	}
	if want := (version{"1", "36", "v1.36.3"}); os.Getenv("KUBEBUILDER_ASSETS") == "" && got.ServerVersion != want {
		t.Errorf("the server's version is %v, want %v", got.ServerVersion, want)
	}
}

func TestUserIsBoundByRBAC(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", shared.UserKubeconfig(t, "jane", "readers"))
	if err != nil {
		t.Fatal(err)
	}
	jane, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := jane.List(t.Context(), &corev1.ConfigMapList{}); !apierrors.IsForbidden(err) {
		t.Fatalf("listing config maps without a role: %v, want forbidden", err)
	}
	shared.ApplyYAML(t, "test", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: test-readers}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: test-readers, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: test-readers}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: readers}]
`)
	poll.Until(t, func() error {
		return jane.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default"))
	})
	shared.Grant(t, "jane", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"},
		Verbs: []string{"list"}})
	if err := jane.List(t.Context(), &corev1.ServiceList{}); err != nil {
		t.Errorf("listing services as soon as that is granted: %v", err)
	}
	if err := jane.List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing secrets with roles for config maps and services: %v, want forbidden", err)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, "apply")
	shared.Namespace(t, "apply") // a second call is no error
	deployment := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "BundleDeployment",
		"metadata": map[string]any{"name": "guestbook", "namespace": "apply"},
		"spec":     map[string]any{"deploymentID": "s-1:2"},
		"status":   map[string]any{"release": "guestbook/guestbook:1"},
	}}
	original := deployment.DeepCopy()
	shared.Apply(t, "someone", deployment)
	if diff := cmp.Diff(original, deployment); diff != "" {
		t.Errorf("Apply changed its argument (-want +got):\n%s", diff)
	}

	got := get(t, deployment)
	if diff := cmp.Diff(map[string]any{"release": "guestbook/guestbook:1"}, got.Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	var managers []string
	for _, entry := range got.GetManagedFields() {
		managers = append(managers, entry.Manager+"/"+string(entry.Operation)+"/"+entry.Subresource)
	}
	if diff := cmp.Diff([]string{"someone/Apply/", "someone/Apply/status"}, managers); diff != "" {
		t.Errorf("field managers (-want +got):\n%s", diff)
	}

	// A kind with an object, a List, and a typed object.
	shared.ApplyYAML(t, "test", widgetCRD+`
---
apiVersion: v1
kind: List
items:
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: apply}, status: {phase: Ready}}
`)
	widget := get(t, object("example.com/v1", "Widget", "apply", "one"))
	if phase, _, _ := unstructured.NestedString(widget.Object, "status", "phase"); phase != "Ready" {
		t.Errorf("the status of a kind without the subresource: %q, want Ready", phase)
	}
	shared.Apply(t, "test", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "typed", Namespace: "apply"}})
	get(t, object("v1", "ConfigMap", "apply", "typed"))
}

func TestStart(t *testing.T) {
	t.Parallel()
	crds := t.TempDir()
	if err := os.WriteFile(filepath.Join(crds, "widgets.yaml"), []byte(widgetCRD), 0o600); err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(t,
		cluster.WithCRDs(crds),
		cluster.WithAPIServerFlag("runtime-config", "storage.k8s.io/v1=false"),
		cluster.WithAPIServerFlag("watch-cache", "false"))
	for _, kind := range []*unstructured.UnstructuredList{
		list("storage.k8s.io/v1", "StorageClassList"), list("fleet.cattle.io/v1alpha1", "BundleList"),
	} {
		if err := c.Client().List(t.Context(), kind); !meta.IsNoMatchError(err) {
			t.Errorf("listing %s: %v, want no such kind", kind.GetKind(), err)
		}
	}

	c.ApplyYAML(t, "test", `
{apiVersion: example.com/v1, kind: Widget, metadata: {name: one, namespace: default}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: two, namespace: default}}
`)
	widgets := list("example.com/v1", "WidgetList")
	if err := c.Client().List(t.Context(), widgets, client.Limit(1)); err != nil || len(widgets.Items) != 1 {
		t.Fatalf("listing the first widget: %d widgets, %v", len(widgets.Items), err)
	}
	c.Namespace(t, "later")
	c.Compact(t)
	err := c.Client().List(t.Context(), list("example.com/v1", "WidgetList"), client.Limit(1),
		client.Continue(widgets.GetContinue()))
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("continuing a list after compaction: %v, want expired", err)
	}
}

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
