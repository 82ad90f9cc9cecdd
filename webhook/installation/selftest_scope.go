// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// scope is the set of objects for which the API server calls a webhook: all objects if the configuration could not be
// read.
type scope struct {
	configured          bool // the webhook exists, or may exist
	namespaces, objects labels.Selector
	timeout             time.Duration // 0 if unknown
}

// scopeOf reads the scope of a webhook from the configurations of a kind.
func (t *Tester) scopeOf(ctx context.Context, kind schema.GroupVersionKind, webhook string) scope {
	for o, err := range t.List(ctx, kind, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: Selector}) {
		if err != nil {
			return scope{configured: true, namespaces: labels.Everything(), objects: labels.Everything()}
		}
		for _, w := range webhooksOf(o) {
			if w.Name == webhook {
				return scope{true, selector(w.NamespaceSelector), selector(w.ObjectSelector), time.Duration(ptr.Deref(w.TimeoutSeconds, 0)) * time.Second}
			}
		}
	}
	return scope{}
}

func selector(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return labels.Everything()
	}
	return out
}

// exclusions lists why the API server does not call a webhook for an object, nil if it should.
func (t *Tester) exclusions(ctx context.Context, s scope, o *unstructured.Unstructured) []string {
	var out []string
	if s.excludes(o) {
		out = append(out, "the object has the label "+admission.IgnoreLabel+"=true, or the webhook's objectSelector excludes it for another label")
	}
	if reason := t.excludedNamespace(ctx, s, o.GetNamespace()); reason != "" {
		out = append(out, reason)
	}
	return out
}

func (s scope) excludes(o *unstructured.Unstructured) bool {
	return !s.objects.Matches(labels.Set(o.GetLabels()))
}

// excludedNamespace is the reason why the API server does not call a webhook for a namespace, "" if it should or if the
// Namespace could not be read.
func (t *Tester) excludedNamespace(ctx context.Context, s scope, namespace string) string {
	if namespace == "" {
		return ""
	}
	o, err := t.Get(ctx, refTo(namespaceKind, "", namespace))
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
