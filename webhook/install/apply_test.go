// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

func unmarked(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetLabels(nil)
	return u
}

func TestPlan(t *testing.T) {
	t.Parallel()
	desired := render(t, Options{})
	live := func(change func(*unstructured.Unstructured) *unstructured.Unstructured, kinds ...string) map[object.Key]*unstructured.Unstructured {
		out := map[object.Key]*unstructured.Unstructured{}
		for _, d := range desired {
			for _, k := range kinds {
				if d.GetKind() == k {
					out[RefOf(d).Key()] = change(d)
				}
			}
		}
		return out
	}
	same := func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }
	dying := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u = u.DeepCopy()
		u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		return u
	}

	steps, err := plan(desired, live(same, "Namespace"))
	if err != nil || len(steps) != len(desired) || steps[0].Live == nil || steps[1].Live != nil {
		t.Errorf("plan: %d steps, %v", len(steps), err)
	}
	steps, err = plan(desired, live(unmarked, "Service", "Deployment"))
	var foreign *ForeignError
	if !errors.As(err, &foreign) || steps != nil {
		t.Fatalf("what is somebody else's was planned over: %v", err)
	}
	want := "refusing to change what is not of an installation of this webhook (the label app.kubernetes.io/name=fleetdoctor-webhook is missing):\n" +
		"  service fleetdoctor-system/fleetdoctor-webhook\n  deployment.apps fleetdoctor-system/fleetdoctor-webhook"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if _, err := plan(desired, live(dying, "Namespace")); err == nil {
		t.Error("a namespace that is being deleted was installed into")
	}
}

func TestDropPatch(t *testing.T) {
	t.Parallel()
	configuration := func(names ...string) *unstructured.Unstructured {
		var webhooks []any
		for _, n := range names {
			webhooks = append(webhooks, map[string]any{"name": n})
		}
		return &unstructured.Unstructured{Object: map[string]any{"webhooks": webhooks}}
	}
	for want, s := range map[string]Step{
		"": {Live: configuration(StampWebhook), Desired: configuration(StampWebhook, ExactWebhook)},
		`[{"op":"test","path":"/webhooks/2/name","value":"c"},{"op":"remove","path":"/webhooks/2"},` +
			`{"op":"test","path":"/webhooks/0/name","value":"a"},{"op":"remove","path":"/webhooks/0"}]`: {Live: configuration("a", "b", "c"), Desired: configuration("b")},
	} {
		got, err := dropPatch(s)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	desired := render(t, Options{})
	live := map[object.Key]*unstructured.Unstructured{}
	for _, d := range desired {
		switch d.GetKind() {
		case deploymentKind.Kind, mutatingKind.Kind, validatingKind.Kind:
			live[RefOf(d).Key()] = d.DeepCopy()
		}
	}
	want := "Deployment fleetdoctor-webhook to be available (0 of 2 replicas are ready), a caBundle for stamp.fleetdoctor.io, a caBundle for guard.fleetdoctor.io"
	if diff := cmp.Diff(want, lacks(desired, live)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	for _, o := range live {
		if o.GetKind() == deploymentKind.Kind {
			o.Object["status"] = map[string]any{"readyReplicas": int64(2), "availableReplicas": int64(2), "updatedReplicas": int64(2)}
		}
		for _, w := range WebhooksOf(o) {
			if err := unstructured.SetNestedField(w, "Y2E=", "clientConfig", "caBundle"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := lacks(desired, live); got != "" {
		t.Errorf("missing of what is complete: %s", got)
	}
	for _, o := range live {
		if o.GetKind() == deploymentKind.Kind {
			o.SetGeneration(2) // which the controller has not seen yet
		}
	}
	if got := lacks(desired, live); got != "Deployment fleetdoctor-webhook to be available (2 of 2 replicas are ready)" {
		t.Errorf("missing before the controller has seen a change: %q", got)
	}
}

// TestDropsConditions looks at what a server made of a configuration. No server that the tests run is old enough to drop anything.
func TestDropsConditions(t *testing.T) {
	configuration := func(webhooks ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"webhooks": webhooks}}
	}
	with := map[string]any{"name": "a", "matchConditions": []any{map[string]any{"name": "c", "expression": "true"}}}
	without := map[string]any{"name": "a"}
	other := map[string]any{"name": "b"}
	for name, tc := range map[string]struct {
		desired, got *unstructured.Unstructured
		want         bool
	}{
		"kept":                {configuration(with, other), configuration(other, with), false},
		"dropped":             {configuration(with), configuration(without), true},
		"the webhook is gone": {configuration(with), configuration(other), true},
		"none wanted":         {configuration(without), configuration(without), false},
		"no webhooks":         {configuration(), configuration(), false},
	} {
		if got := dropsConditions(tc.desired, tc.got); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
