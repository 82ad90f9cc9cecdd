// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"context"
	"encoding/base64"
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// choice is a field that a manifest leaves to a controller or to admission by stating zero.
type choice struct {
	owner    reflect.Type
	field    string
	manifest string
	// before creates objects that admission reads; after changes the object as a controller does.
	before func(t *testing.T)
	after  func(ctx context.Context, live *unstructured.Unstructured) error
}

var choices = []choice{
	{
		owner: reflect.TypeFor[corev1.PersistentVolumeClaimSpec](), field: "volumeName",
		manifest: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: chosen},
			spec: {volumeName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		after: writing("volume", "spec", "volumeName"),
	},
	{
		owner: reflect.TypeFor[corev1.PodSpec](), field: "nodeName",
		manifest: `{apiVersion: v1, kind: Pod, metadata: {name: chosen},
			spec: {nodeName: "", containers: [{name: c, image: registry.example.com/a:1}]}}`,
		after: bound,
	},
	{
		owner: reflect.TypeFor[corev1.ServiceAccount](), field: "secrets",
		manifest: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: chosen}, secrets: []}`,
		after:    writing([]any{map[string]any{"name": "token"}}, "secrets"),
	},
	{
		owner: reflect.TypeFor[admissionv1.WebhookClientConfig](), field: "caBundle",
		manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
			metadata: {name: chosen}, webhooks: [{name: a.example.com,
			admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore,
			clientConfig: {service: {name: s, namespace: ns}, caBundle: ""},
			rules: [{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE]}]}]}`,
		after: injected,
	},
	{
		owner: reflect.TypeFor[corev1.PodSpec](), field: "priorityClassName",
		manifest: `{apiVersion: v1, kind: Pod, metadata: {name: prior},
			spec: {priorityClassName: "", containers: [{name: c, image: registry.example.com/a:1}]}}`,
		before: globalPriority,
	},
}

// writing returns a function that writes one field of an existing object, as a controller does.
func writing(value any, field ...string) func(context.Context, *unstructured.Unstructured) error {
	return func(ctx context.Context, live *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(live.Object, value, field...); err != nil {
			return err
		}
		return shared.Client().Update(ctx, live, client.FieldOwner("controller"))
	}
}

// injected writes the certificate authority of the test server, as an injector does.
func injected(ctx context.Context, live *unstructured.Unstructured) error {
	hooks, _, err := unstructured.NestedSlice(live.Object, "webhooks")
	if err != nil {
		return err
	}
	bundle := base64.StdEncoding.EncodeToString(shared.Config().CAData)
	put(hooks, []any{0, "clientConfig", "caBundle"}, bundle)
	return writing(hooks, "webhooks")(ctx, live)
}

// bound binds a pod, as the scheduler does.
func bound(ctx context.Context, live *unstructured.Unstructured) error {
	binding := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Binding",
		"target": map[string]any{"kind": "Node", "name": "node"}}}
	return shared.Client().SubResource("binding").Create(ctx, live, binding)
}

// chosenLater checks what a dry run cannot show: the object is created, a controller makes the choice, and this is
// no difference.
func chosenLater(t *testing.T, confirmed evidence) {
	t.Helper()
	for _, c := range choices {
		t.Run(c.field, func(t *testing.T) {
			if c.before != nil {
				c.before(t)
			}
			stated := &unstructured.Unstructured{Object: parse(t, c.manifest)}
			live := stated.DeepCopy()
			if namespaced, err := shared.Client().IsObjectNamespaced(live); err != nil || namespaced {
				live.SetNamespace(namespace)
			}
			shared.Create(t, live)
			if c.after != nil {
				if err := c.after(t.Context(), live); err != nil {
					t.Fatal(err)
				}
			}
			if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
				t.Fatal(err)
			}
			same(t, stated, live)
			confirmed.observe(t, stated, live)
			if !confirmed[key(c.owner, c.field)] {
				t.Errorf("%s was not chosen: %v", c.field, live.Object)
			}
		})
	}
}

// globalPriority creates the default priority class, and waits until admission uses it.
func globalPriority(t *testing.T) {
	t.Helper()
	class := &schedulingv1.PriorityClass{Value: 7, GlobalDefault: true}
	class.Name = "global"
	shared.Create(t, class)
	probe := &unstructured.Unstructured{Object: parse(t,
		`{apiVersion: v1, kind: Pod, metadata: {name: probe}, spec: {containers: [{name: c, image: i}]}}`)}
	err := wait.PollUntilContextTimeout(t.Context(), poll.Interval, poll.Deadline, true,
		func(ctx context.Context) (bool, error) {
			live, err := dryRun(ctx, probe, "Strict")
			if err != nil {
				return false, err
			}
			name, _, err := unstructured.NestedString(live.Object, "spec", "priorityClassName")
			return name == class.Name, err
		})
	if err != nil {
		t.Fatalf("waiting for a global priority class: %v", err)
	}
}
