// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
)

// reach is whom a webhook is called for, as the cluster has it.
type reach struct {
	// configured is false where the webhook is not there. Where it could not be read nothing is known, and everything may be reached.
	configured, known   bool
	namespaces, objects labels.Selector
	timeout             time.Duration
}

// reach reads whom the stamp webhook is called for.
func (t *Tester) reach(ctx context.Context) reach {
	return t.reachOf(ctx, "MutatingWebhookConfiguration", install.StampWebhook)
}

// reachOf reads whom a webhook is called for, of the configurations of a kind.
func (t *Tester) reachOf(ctx context.Context, kind, webhook string) reach {
	everything := reach{configured: true, namespaces: labels.Everything(), objects: labels.Everything()}
	out := reach{known: true}
	err := t.Cluster.List(ctx, admissionregistrationv1.SchemeGroupVersion.WithKind(kind), metav1.NamespaceAll, metav1.ListOptions{LabelSelector: install.Selector}, func(o *unstructured.Unstructured) error {
		for _, w := range install.WebhooksOf(o) {
			if w["name"] != webhook {
				continue
			}
			out = everything
			out.known = true
			out.namespaces, out.objects = selector(w, "namespaceSelector"), selector(w, "objectSelector")
			seconds, _, _ := unstructured.NestedInt64(w, "timeoutSeconds")
			out.timeout = time.Duration(seconds) * time.Second
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return everything
	}
	return out
}

func selector(webhook map[string]any, field string) labels.Selector {
	m, _, _ := unstructured.NestedMap(webhook, field)
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s); err != nil {
		return labels.Everything()
	}
	out, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return labels.Everything()
	}
	return out
}

// excludes says why the webhook is not called for an object, "" where it should be.
func (r reach) excludes(o *unstructured.Unstructured) string {
	if r.known && r.configured && !r.objects.Matches(labels.Set(o.GetLabels())) {
		return "the object is labelled " + admission.IgnoreLabel + "=true, or otherwise outside of the webhook's objectSelector"
	}
	return ""
}

// shuts says why the webhook is not called for what is in a namespace, "" where it should be. What could not be read shuts nothing out.
func (t *Tester) shuts(ctx context.Context, r reach, namespace string) string {
	if !r.configured || !r.known || namespace == "" {
		return ""
	}
	o, err := t.Cluster.Get(ctx, object.Ref{APIVersion: "v1", Kind: "Namespace", Name: namespace})
	switch {
	case err != nil || o == nil:
		return ""
	case o.GetLabels()[admission.IgnoreLabel] == "true":
		return "the namespace " + namespace + " is labelled " + admission.IgnoreLabel + "=true"
	case !r.namespaces.Matches(labels.Set(o.GetLabels())):
		return "the namespace " + namespace + " is outside of the webhook's namespaceSelector"
	}
	return ""
}
