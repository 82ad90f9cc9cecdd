// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// guestbook is the example bundle of docs/fleet-behavior.md, 1.2. Each test uses another namespace.
func guestbook(t *testing.T, namespace string) cluster.ReleaseOptions {
	t.Helper()
	shared.RemoveNamespacesAfter(t, namespace)
	return cluster.ReleaseOptions{
		BundleID:       "guestbook",
		Namespace:      namespace,
		SetID:          "default-guestbook",
		Hash:           "c5c68538ff9800def965853a87784a250ad1f566",
		AgentNamespace: "cattle-fleet-system",
		Commit:         "0123456789abcdef",
	}
}

func TestInstallRelease(t *testing.T) {
	t.Parallel()
	options := guestbook(t, "install")
	options.Manifest = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: raw, labels: {app: guestbook}}, data: {template: "{{ not one }}"}}
---
apiVersion: v1
kind: Service
metadata: {name: frontend}
spec: {selector: {app: guestbook}, ports: [{port: 80}]}
`
	options.Templates = map[string]string{
		"config.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: templated}, data: {colour: {{ " +
			".Values.colour }}}}",
	}
	options.Values = map[string]any{"colour": "blue"}
	shared.InstallRelease(t, options)

	record := decode(t, "install", "sh.helm.release.v1.guestbook.v1")
	want := release{
		Name: "guestbook", Namespace: "install", Version: 1, ApplyMethod: "ssa", Info: info{Status: "deployed"},
		Chart: chart{metadata{Name: "guestbook", Annotations: map[string]string{
			"fleet.cattle.io/agent-namespace": "cattle-fleet-system",
			"fleet.cattle.io/bundle-id":       "guestbook",
			"fleet.cattle.io/commit":          "0123456789abcdef",
			"fleet.cattle.io/keep-resources":  "false",
			"fleet.cattle.io/service-account": "",
		}}},
	}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}

	for _, obj := range []*unstructured.Unstructured{
		object("v1", "ConfigMap", "install", "raw"),
		object("v1", "ConfigMap", "install", "templated"),
		object("v1", "Service", "install", "frontend"),
	} {
		live := get(t, obj)
		if diff := cmp.Diff(ownership("guestbook", "install"), ownershipOf(live)); diff != "" {
			t.Errorf("ownership of %s %s (-want +got):\n%s", obj.GetKind(), obj.GetName(), diff)
		}
		if manager := live.GetManagedFields()[0].Manager; manager != cluster.AgentManager {
			t.Errorf("%s %s is managed by %q, want %q", obj.GetKind(), obj.GetName(), manager, cluster.AgentManager)
		}
	}
	if app := get(t, object("v1", "ConfigMap", "install", "raw")).GetLabels()["app"]; app != "guestbook" {
		t.Errorf("a label of the manifest is now %q", app)
	}
}

// TestUpgradeRelease removes an object from a release, keeps a CRD, and takes over an unowned object.
func TestUpgradeRelease(t *testing.T) {
	t.Parallel()
	options := guestbook(t, "upgrade")
	options.Name, options.ClientSideApply = "edge", true
	options.Manifest = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: dropped}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.upgrade.example.com}
spec:
  group: upgrade.example.com
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	shared.InstallRelease(t, options)
	shared.ApplyYAML(t, "someone", "{apiVersion: v1, kind: ConfigMap, metadata: {name: unowned, namespace: upgrade}}")
	options.Manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: unowned}}"
	shared.UpgradeRelease(t, options)

	for name, want := range map[string]release{
		"sh.helm.release.v1.edge.v1": {Version: 1, Info: info{Status: "superseded"}},
		"sh.helm.release.v1.edge.v2": {Version: 2, Info: info{Status: "deployed"}},
	} {
		want.Name, want.Namespace, want.ApplyMethod = "edge", "upgrade", "csa"
		got := decode(t, "upgrade", name)
		got.Chart = chart{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(ownership("edge", "upgrade"),
		ownershipOf(get(t, object("v1", "ConfigMap", "upgrade", "unowned")))); diff != "" {
		t.Errorf("ownership of the object that was taken (-want +got):\n%s", diff)
	}
	crd := get(t, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gadgets.upgrade.example.com"))
	if policy := crd.GetAnnotations()["helm.sh/resource-policy"]; policy != "keep" {
		t.Errorf("resource policy of the CRD: %q, want keep", policy)
	}
	dropped := object("v1", "ConfigMap", "upgrade", "dropped")
	if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(dropped),
		dropped); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("reading an object of the first revision only: %v, want not found", err)
	}
}

// TestUninstall has Helm work as another user, installs, upgrades and uninstalls, and checks that nothing remains.
func TestUninstall(t *testing.T) {
	t.Parallel()
	options := guestbook(t, "uninstall")
	options.User = "system:serviceaccount:cattle-fleet-system:fleet-agent"
	options.Manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}`
	shared.InstallRelease(t, options)
	shared.UpgradeRelease(t, options)
	if err := shared.Uninstall(options); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []*unstructured.Unstructured{object("v1", "ConfigMap", "uninstall", "one"),
		object("v1", "Secret", "uninstall", "sh.helm.release.v1.guestbook.v2")} {
		if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
			t.Errorf("%s still exists: %v", obj.GetName(), err)
		}
	}
}

func TestTakeOwnership(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, "take")
	shared.ApplyYAML(t, "someone",
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: take}, data: {a: "1"}}`)
	options := guestbook(t, "take")
	options.TakeOwnership = true
	options.Manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign}, data: {a: "2"}}`
	if rel := shared.InstallRelease(t, options); rel.ApplyMethod != "csa" {
		t.Errorf("an install that takes ownership uses the apply method %q, want csa", rel.ApplyMethod)
	}
	live := get(t, object("v1", "ConfigMap", "take", "foreign"))
	if diff := cmp.Diff(ownership("guestbook", "take"), ownershipOf(live)); diff != "" {
		t.Errorf("ownership (-want +got):\n%s", diff)
	}
	if a, _, _ := unstructured.NestedString(live.Object, "data", "a"); a != "2" {
		t.Errorf("data.a is %q, want the bundle's 2", a)
	}
}

// TestReleaseOptions checks the effect of options in the record and on an object.
func TestReleaseOptions(t *testing.T) {
	t.Parallel()
	shared.Namespace(t, "options-target")
	configMap := "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"
	definition := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " +
		"%[1]ss.options.example.com}, " +
		"spec: {group: options.example.com, names: {kind: %[1]s, listKind: %[1]sList, plural: %[1]ss, singular: " +
		"%[1]s}, scope: Cluster, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}"
	crd := func(name string) *unstructured.Unstructured {
		return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name+"s.options.example.com")
	}
	for name, test := range map[string]struct {
		change   func(*cluster.ReleaseOptions)
		obj      *unstructured.Unstructured
		want     map[string]string // all labels and annotations
		unlisted bool              // obj is in the cluster, but not in the manifest of the record
	}{
		"other": {
			change: func(o *cluster.ReleaseOptions) {
				*o = cluster.ReleaseOptions{Name: "options-other", Namespace: o.Namespace, Manifest: configMap}
			},
			obj: object("v1", "ConfigMap", "options-other", "one"),
			want: map[string]string{
				"app.kubernetes.io/managed-by":   "Helm",
				"meta.helm.sh/release-name":      "options-other",
				"meta.helm.sh/release-namespace": "options-other",
			},
		},
		"target-namespace": {
			change: func(o *cluster.ReleaseOptions) { o.Manifest, o.TargetNamespace = configMap, "options-target" },
			obj:    object("v1", "ConfigMap", "options-target", "one"),
			want:   ownership("guestbook", "options-target-namespace"),
		},
		"delete-crds": {
			change: func(o *cluster.ReleaseOptions) {
				o.Manifest, o.DeleteCRDResources = fmt.Sprintf(definition, "removable"), true
			},
			obj:  crd("removable"),
			want: ownership("guestbook", "options-delete-crds"),
		},
		"crds-directory": {
			change:   func(o *cluster.ReleaseOptions) { o.CRDs = fmt.Sprintf(definition, "unmanaged") },
			obj:      crd("unmanaged"),
			want:     map[string]string{},
			unlisted: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := guestbook(t, "options-"+name)
			test.change(&options)
			if options.TargetNamespace != "" {
				shared.RemoveNamespacesAfter(t, options.TargetNamespace)
			}
			rel := shared.InstallRelease(t, options)
			if listed := strings.Contains(rel.Manifest, "name: "+test.obj.GetName()); listed == test.unlisted {
				t.Errorf("the manifest lists the object: %t, want %t", listed, !test.unlisted)
			}
			live := get(t, test.obj)
			got := map[string]string{}
			maps.Copy(got, live.GetAnnotations())
			maps.Copy(got, live.GetLabels())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ownership (-want +got):\n%s", diff)
			}
			if options.BundleID == "" && len(rel.Chart.Metadata.Annotations) > 0 {
				t.Errorf("the chart has annotations: %v", rel.Chart.Metadata.Annotations)
			}
		})
	}
}

// release is as much of a record as the tests look at.
type release struct {
	Name, Namespace string
	Version         int
	ApplyMethod     string `json:"apply_method"`
	Info            info
	Chart           chart
}

type chart struct{ Metadata metadata }

type metadata struct {
	Name        string
	Annotations map[string]string
}

type info struct{ Status string }

// decode decodes a stored record without Helm (docs/fleet-behavior.md, 2.8).
func decode(t *testing.T, namespace, name string) release {
	t.Helper()
	secret := &corev1.Secret{}
	if err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		t.Fatalf("reading a record: %v", err)
	}
	if secret.Type != "helm.sh/release.v1" || secret.Labels["owner"] != "helm" {
		t.Errorf("%s has type %q and labels %v", name, secret.Type, secret.Labels)
	}
	compressed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		t.Fatalf("decoding %s: %v", name, err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatalf("decompressing %s: %v", name, err)
	}
	var record release
	if err := json.NewDecoder(plain).Decode(&record); err != nil {
		t.Fatalf("decoding %s: %v", name, err)
	}
	return record
}

// ownership is the ownership metadata of an object of the guestbook bundle.
func ownership(name, namespace string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/managed-by":   "Helm",
		"meta.helm.sh/release-name":      name,
		"meta.helm.sh/release-namespace": namespace,
		"objectset.rio.cattle.io/hash":   "c5c68538ff9800def965853a87784a250ad1f566",
		"objectset.rio.cattle.io/id":     "default-guestbook",
	}
}

func ownershipOf(obj *unstructured.Unstructured) map[string]string {
	found := maps.Clone(obj.GetAnnotations())
	maps.Copy(found, obj.GetLabels())
	known := slices.Collect(maps.Keys(ownership("", "")))
	maps.DeleteFunc(found, func(key, _ string) bool { return !slices.Contains(known, key) })
	return found
}
