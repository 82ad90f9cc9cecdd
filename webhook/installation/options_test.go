// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// TestChanges checks which options are reported as changed.
func TestChanges(t *testing.T) {
	t.Parallel()
	scoped := Options{ReleaseNamespaces: []string{"platform", "apps"}, Exact: true, GuardDefault: admission.GuardDeny, Image: "example.com/webhook:1", Replicas: 3, Certificates: CertManager}
	reads := Change{releasesOption, "every namespace", "apps, platform"}
	for _, tc := range []struct {
		name     string
		old, now Options
		missing  []string // kinds of which no object exists
		want     []Change
	}{
		{name: "the same", old: scoped, now: scoped},
		{name: "explicit defaults", old: Options{}, now: Options{GuardDefault: admission.GuardWarn, Certificates: SelfSigned, Replicas: Replicas}},
		{name: "all options", old: scoped, now: Options{Image: "example.com/webhook:2"}, want: []Change{reads, {"exact", "false", "true"}, {"certificates", "self-signed", "cert-manager"},
			{"guard-default", "warn", "deny"}, {"image", "example.com/webhook:2", "example.com/webhook:1"}, {"replicas", "2", "3"}}},
		{name: "fewer rights", old: Options{}, now: Options{ReleaseNamespaces: []string{"apps"}},
			want: []Change{{releasesOption, "apps", "every namespace"}}},
		{name: "without the Deployment", old: Options{ReleaseNamespaces: []string{"platform", "apps"}, Replicas: 3}, now: Options{}, missing: []string{"Deployment"}, want: []Change{reads}},
		{name: "disabled", old: scoped, now: scoped, missing: []string{mutatingKind.Kind, validatingKind.Kind}},
	} {
		live := map[object.Key]*unstructured.Unstructured{}
		desired := byKey(render(t, tc.now))
		var stale []*unstructured.Unstructured
		for _, o := range render(t, tc.old) {
			for _, kind := range tc.missing {
				if o.GetKind() == kind {
					o = nil
					break
				}
			}
			if o == nil {
				continue
			}
			live[RefOf(o).Key()] = o
			if desired[RefOf(o).Key().String()] == nil {
				stale = append(stale, o)
			}
		}
		if diff := cmp.Diff(tc.want, Changes(planned(render(t, tc.now), live), stale)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if first := Changes(planned(render(t, tc.now), nil), nil); first != nil {
			t.Errorf("%s: changes of a first installation: %v", tc.name, first)
		}
	}
}

func planned(desired []*unstructured.Unstructured, live map[object.Key]*unstructured.Unstructured) []Step {
	var out []Step
	for _, d := range desired {
		out = append(out, Step{d, live[RefOf(d).Key()]})
	}
	return out
}

// TestAllowedNamespace checks that the webhook cannot be installed into the namespaces that its configurations exclude,
// except its own.
func TestAllowedNamespace(t *testing.T) {
	t.Parallel()
	for _, o := range render(t, Options{}) {
		for _, w := range rawWebhooks(o) {
			selectors, _, _ := unstructured.NestedSlice(w, "namespaceSelector", "matchExpressions")
			first, _ := selectors[0].(map[string]any)
			names, _, _ := unstructured.NestedStringSlice(first, "values")
			for _, n := range names {
				if AllowedNamespace(n) != (n == Namespace) {
					t.Errorf("%s: %t", n, AllowedNamespace(n))
				}
			}
		}
	}
	for n, want := range map[string]bool{"default": false, "fleet-local": false, "cluster-fleet-local-local-1a3d67d0a899": false, "cattle-fleet-other": false, "shop": true, "fleet-doctor": true} {
		if AllowedNamespace(n) != want {
			t.Errorf("%s: %t, want %t", n, AllowedNamespace(n), want)
		}
	}
}

// TestPreparingPatchURL checks that the Service replaces a URL, and that the caBundle is kept.
func TestPreparingPatchURL(t *testing.T) {
	t.Parallel()
	var desired, live *unstructured.Unstructured
	for _, o := range render(t, Options{}) {
		if o.GetKind() == mutatingKind.Kind {
			desired, live = o, o.DeepCopy()
		}
	}
	if patch, err := preparingPatch(Step{Desired: desired, Live: live}); patch != nil || err != nil {
		t.Errorf("patch without drift: %s, %v", patch, err)
	}
	rawWebhooks(live)[0]["clientConfig"] = map[string]any{"url": "https://192.0.2.1/stamp", "caBundle": "Y2E="}
	patch, err := preparingPatch(Step{Desired: desired, Live: live})
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(patch, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"op": "test", "path": "/webhooks/0/name", "value": StampWebhook},
		{"op": "remove", "path": "/webhooks/0/clientConfig/url"},
		{"op": "add", "path": "/webhooks/0/clientConfig/service", "value": map[string]any{"name": Name, "namespace": Namespace, "path": "/stamp"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
