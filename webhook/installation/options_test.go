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

// TestChanges holds what is told of options that an installation changes.
func TestChanges(t *testing.T) {
	t.Parallel()
	scoped := Options{ReleaseNamespaces: []string{"platform", "apps"}, Exact: true, GuardDefault: admission.GuardDeny, Image: "example.com/webhook:1", Replicas: 3, Certificates: CertManager}
	reads := Change{releasesOption, "every namespace", "apps, platform"}
	for _, tc := range []struct {
		name     string
		was, now Options
		gone     []string // kinds of what is there that are missing
		want     []Change
	}{
		{name: "the same", was: scoped, now: scoped},
		{name: "what is a default", was: Options{}, now: Options{GuardDefault: admission.GuardWarn, Certificates: SelfSigned, Replicas: Replicas}},
		{name: "all", was: scoped, now: Options{}, want: []Change{reads, {"exact", "false", "true"}, {"certificates", "self-signed", "cert-manager"},
			{"guard-default", "warn", "deny"}, {"image", Image, "example.com/webhook:1"}, {"replicas", "2", "3"}}},
		{name: "fewer rights", was: Options{}, now: Options{ReleaseNamespaces: []string{"apps"}},
			want: []Change{{releasesOption, "apps", "every namespace"}}},
		{name: "without the Deployment", was: Options{ReleaseNamespaces: []string{"platform", "apps"}, Replicas: 3}, now: Options{}, gone: []string{"Deployment"}, want: []Change{reads}},
		{name: "disabled", was: scoped, now: scoped, gone: []string{mutatingKind.Kind, validatingKind.Kind}},
	} {
		live := map[object.Key]*unstructured.Unstructured{}
		desired := byKey(render(t, tc.now))
		var stale []*unstructured.Unstructured
		for _, o := range render(t, tc.was) {
			for _, kind := range tc.gone {
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
			t.Errorf("%s: of a first installation: %v", tc.name, first)
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

// TestAllowedNamespace holds that what the webhook is kept away from, and is not its own, is no place for it.
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

// TestPreparingPatchAddress holds that an address gives way to the Service, and the caBundle stays.
func TestPreparingPatchAddress(t *testing.T) {
	t.Parallel()
	var desired, live *unstructured.Unstructured
	for _, o := range render(t, Options{}) {
		if o.GetKind() == mutatingKind.Kind {
			desired, live = o, o.DeepCopy()
		}
	}
	if patch, err := preparingPatch(Step{Desired: desired, Live: live}); patch != nil || err != nil {
		t.Errorf("of what is as it should be: %s, %v", patch, err)
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
