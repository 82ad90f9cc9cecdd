// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rawWebhooks returns the webhooks of a configuration so that a test can change them.
func rawWebhooks(o *unstructured.Unstructured) []map[string]any {
	list, _ := o.Object["webhooks"].([]any)
	var out []map[string]any
	for _, e := range list {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func unlabelled(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetLabels(nil)
	return u
}

// stepsOf returns the steps of a plan in which the objects of some kinds exist, changed by live.
func stepsOf(desired []*unstructured.Unstructured, live func(*unstructured.Unstructured) *unstructured.Unstructured, kinds ...string) []Step {
	var out []Step
	for _, d := range desired {
		s := Step{Desired: d}
		if slices.Contains(kinds, d.GetKind()) {
			s.Live = live(d.DeepCopy())
		}
		out = append(out, s)
	}
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	desired := render(t, Options{})
	same := func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }
	deleting := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		return u
	}
	if err := check(stepsOf(desired, same, "Namespace")); err != nil {
		t.Error(err)
	}
	var foreign *ForeignError
	if err := check(stepsOf(desired, unlabelled, "Service", "Deployment")); !errors.As(err, &foreign) {
		t.Fatalf("objects without the label were accepted: %v", err)
	}
	var names []string
	for _, r := range foreign.Objects {
		names = append(names, r.Key().String())
	}
	if diff := cmp.Diff([]string{"service fleetdoctor-system/fleetdoctor-webhook", "deployment.apps fleetdoctor-system/fleetdoctor-webhook"}, names); diff != "" {
		t.Errorf("foreign objects (-want +got):\n%s", diff)
	}
	if err := check(stepsOf(desired, deleting, "Namespace")); err == nil || errors.As(err, &foreign) {
		t.Errorf("a namespace that is being deleted: %v", err)
	}
}

func TestPreparingPatch(t *testing.T) {
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
		got, err := preparingPatch(s)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	desired := render(t, Options{})
	live := map[string]*unstructured.Unstructured{}
	for _, d := range desired {
		switch d.GetKind() {
		case deploymentKind.Kind, mutatingKind.Kind, validatingKind.Kind:
			live[d.GetKind()] = d.DeepCopy()
		}
	}
	all := func() (out []string) {
		for _, kind := range []string{deploymentKind.Kind, mutatingKind.Kind, validatingKind.Kind} {
			out = append(out, missing(live[kind], live[kind])...)
		}
		return out
	}
	want := []string{"Deployment fleetdoctor-webhook to be available (Replicas: 0/2)", "a caBundle for stamp.fleetdoctor.io", "a caBundle for guard.fleetdoctor.io"}
	if diff := cmp.Diff(want, all()); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := missing(live[mutatingKind.Kind], nil); len(got) != 1 {
		t.Errorf("missing of an object that does not exist: %v", got)
	}
	for _, o := range live {
		if o.GetKind() == deploymentKind.Kind {
			o.Object["status"] = available(2)
		}
		for _, w := range rawWebhooks(o) {
			if err := unstructured.SetNestedField(w, "Y2E=", "clientConfig", "caBundle"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := all(); got != nil {
		t.Errorf("missing of a complete installation: %v", got)
	}
	for _, o := range live {
		if o.GetKind() == deploymentKind.Kind {
			o.SetGeneration(2) // which the controller has not seen yet
			if ok, message := Available(o); ok {
				t.Errorf("available before the controller has seen a change: %s", message)
			}
			if err := unstructured.SetNestedField(o.Object, int64(0), "spec", "replicas"); err != nil {
				t.Fatal(err)
			}
			if ok, message := Available(o); ok {
				t.Errorf("available with 0 replicas: %s", message)
			}
		}
	}
}

// available is the status of a Deployment whose replicas are all available.
func available(n int64) map[string]any {
	condition := func(kind, reason string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": reason}
	}
	return map[string]any{"observedGeneration": int64(1), "replicas": n, "readyReplicas": n, "availableReplicas": n, "updatedReplicas": n,
		"conditions": []any{condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable")}}
}

// TestDropsConditions compares configurations before and after an apply. No API server of the tests is old enough to
// drop conditions.
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
		"kept":         {configuration(with, other), configuration(other, with), false},
		"dropped":      {configuration(with), configuration(without), true},
		"no webhook":   {configuration(with), configuration(other), true},
		"none desired": {configuration(without), configuration(without), false},
		"no webhooks":  {configuration(), configuration(), false},
	} {
		if got := dropsConditions(tc.desired, tc.got); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
