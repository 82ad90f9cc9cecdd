// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// testManager is the field manager of the test. The webhook ignores requests of adopt's field manager.
const testManager = "fleetdoctor-webhook-test"

// TestedLabel is the label without which the objects of requests are sent: Fleet's set hash.
const TestedLabel = fleet.HashLabel

const removeLabel = `{"metadata":{"labels":{"` + TestedLabel + `":null}}}`

// noWrites makes a request a dry run of the server.
var noWrites = []string{metav1.DryRunAll}

// Tester tests whether an installed webhook answers. It tests once.
type Tester struct {
	*install.Cluster
	*Facts
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time

	doc    *Test
	unread error // the last reason why an object that a release desires was not used
}

// create sends a dry run that creates an object without TestedLabel, with the annotations of its release
// ("namespace/name").
func (t *Tester) create(ctx context.Context, o *unstructured.Unstructured, release string) *Response {
	namespace, name, _ := strings.Cut(release, "/")
	labels, annotations := o.GetLabels(), map[string]string{}
	delete(labels, TestedLabel)
	maps.Copy(annotations, o.GetAnnotations())
	annotations[fleet.ReleaseNamespaceAnnotation], annotations[fleet.ReleaseNameAnnotation] = namespace, name
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	return t.send(o, StampWebhook, func(r dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return r.Create(ctx, o, metav1.CreateOptions{DryRun: noWrites, FieldManager: testManager})
	})
}

// strip sends a dry run that removes TestedLabel from an object.
func (t *Tester) strip(ctx context.Context, live *unstructured.Unstructured) *Response {
	return t.send(live, StampWebhook, func(r dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		o := metav1.PatchOptions{DryRun: noWrites, FieldManager: testManager}
		return r.Patch(ctx, live.GetName(), types.MergePatchType, []byte(removeLabel), o)
	})
}

// remove sends a dry run that deletes an object, unless the validating handler is known to be off.
func (t *Tester) remove(ctx context.Context, live *unstructured.Unstructured) *Response {
	if t.guardOff(live) {
		return &Response{Object: install.RefOf(live), Answer: Off}
	}
	return t.send(live, GuardWebhook, func(r dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		uid := metav1.NewUIDPreconditions(string(live.GetUID()))
		return nil, r.Delete(ctx, live.GetName(), metav1.DeleteOptions{DryRun: noWrites, Preconditions: uid})
	})
}

// request sends a request about an object, and returns the object of the response, if it has one.
type request func(dynamic.ResourceInterface) (*unstructured.Unstructured, error)

// send sends a request, and evaluates what the response shows of a webhook.
func (t *Tester) send(o *unstructured.Unstructured, webhook string, send request) *Response {
	t.Warnings.Take()
	out := &Response{Object: install.RefOf(o)}
	var got *unstructured.Unstructured
	r, err := t.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err == nil {
		begin := t.Now()
		got, err = send(r)
		out.Seconds = t.Now().Sub(begin).Seconds()
	}
	if err != nil {
		out.Message = err.Error()
		out.forbidden = apierrors.IsForbidden(err)
	}
	out.Warnings = t.Warnings.Take()
	out.Answer = answerOf(got, out.Message, warned(out.Warnings, webhook), webhook)
	return out
}

// answerOf returns the answer of a webhook. The API server names webhooks only in its message.
func answerOf(got *unstructured.Unstructured, message string, warned bool, webhook string) Answer {
	switch {
	case strings.Contains(message, `admission webhook "`+webhook+`" denied the request`):
		return Denied
	case got != nil && got.GetLabels()[TestedLabel] != "":
		return Restored
	case warned:
		return Warned
	case message == "":
		return NotAnswered
	}
	for _, other := range []string{StampWebhook, ExactWebhook, GuardWebhook} { // called later, or not answered
		if strings.Contains(message, `webhook "`+other+`"`) {
			return NotAnswered
		}
	}
	return Refused
}

// guardOff reports whether the validating handler is known to be switched off.
func (t *Tester) guardOff(live *unstructured.Unstructured) bool {
	labels, mode := live.GetLabels(), admission.GuardWarn // the labels of the object itself if it is cluster-scoped
	if namespace := live.GetNamespace(); namespace != "" {
		labels = t.Labels[namespace]
	}
	deployment := install.Decode[appsv1.Deployment](t.Deployment(Chart).Object)
	for _, c := range deployment.Spec.Template.Spec.Containers {
		if slices.Contains(c.Args, "--guard-default=off") {
			mode = admission.GuardOff
		}
	}
	mode, _ = admission.GuardModeOf(labels, mode)
	return mode == admission.GuardOff
}

// supportsDryRun reports whether a dry run certainly changes nothing: for kinds that Kubernetes itself serves, and for
// custom resources. An aggregated API server may ignore the option.
func (t *Tester) supportsDryRun(ctx context.Context, ref object.Ref) bool {
	gv := ref.GroupVersionKind().GroupVersion()
	if scheme.Scheme.IsGroupRegistered(gv.Group) {
		return true
	}
	o, err := t.Get(ctx, install.RefTo(install.APIServiceKind, "", gv.Version+"."+gv.Group))
	if err != nil || o == nil {
		return false
	}
	service, _, err := unstructured.NestedMap(o.Object, "spec", "service")
	return err == nil && service == nil
}
