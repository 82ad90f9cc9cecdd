// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// scope says for which objects the API server calls a webhook. If the configuration could not be read, it includes all objects.
type scope struct {
	configured          bool // the webhook exists, as far as is known
	namespaces, objects labels.Selector
	timeout             time.Duration // 0 if unknown
}

// scopeOf reads the scope of a webhook from the configurations of a kind.
func (t *Tester) scopeOf(ctx context.Context, kind schema.GroupVersionKind, webhook string) scope {
	all := scope{configured: true, namespaces: labels.Everything(), objects: labels.Everything()}
	out := scope{}
	err := t.Cluster.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}, func(o *unstructured.Unstructured) error {
		for _, w := range WebhooksOf(o) {
			if w["name"] == webhook {
				seconds, _, _ := unstructured.NestedInt64(w, "timeoutSeconds")
				out = scope{true, selector(w, "namespaceSelector"), selector(w, "objectSelector"), time.Duration(seconds) * time.Second}
				return errEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return all
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

// exclusions says why the API server does not call a webhook for an object, nothing if it should.
func (t *Tester) exclusions(ctx context.Context, s scope, o *unstructured.Unstructured) []string {
	var out []string
	if s.excludes(o) {
		out = append(out, "the object has the label "+admission.IgnoreLabel+"=true, or the webhook's objectSelector excludes it for another label")
	}
	if why := t.excludedNamespace(ctx, s, o.GetNamespace()); why != "" {
		out = append(out, why)
	}
	return out
}

func (s scope) excludes(o *unstructured.Unstructured) bool {
	return s.configured && !s.objects.Matches(labels.Set(o.GetLabels()))
}

// excludedNamespace says why the API server does not call a webhook for a namespace, "" if it should or if the Namespace could not be read.
func (t *Tester) excludedNamespace(ctx context.Context, s scope, namespace string) string {
	if !s.configured || namespace == "" {
		return ""
	}
	o, err := t.Cluster.Get(ctx, object.Ref{APIVersion: "v1", Kind: namespaceKind.Kind, Name: namespace})
	switch {
	case err != nil || o == nil:
		return ""
	case o.GetLabels()[admission.IgnoreLabel] == "true":
		return "the Namespace " + namespace + " has the label " + admission.IgnoreLabel + "=true"
	case !s.namespaces.Matches(labels.Set(o.GetLabels())):
		return "the webhook's namespaceSelector excludes the Namespace " + namespace
	}
	return ""
}
