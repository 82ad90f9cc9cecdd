// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// recorder is a source that records what is read of another one.
type recorder struct {
	source.Source
	// namespace is a workspace to read if listing all namespaces is forbidden.
	namespace string

	mu    sync.Mutex // guards the fields below
	kinds map[schema.GroupVersionKind]*listed
	name  func(string)
}

// listed is what was read of a kind.
type listed struct {
	// labels selects the objects that were read; empty if all were.
	labels string
	// fallback are the namespaces that were read one by one, or would have been.
	fallback map[string]bool
}

func newRecorder(src source.Source, namespace string, name func(string)) *recorder {
	return &recorder{Source: src, namespace: namespace, kinds: map[schema.GroupVersionKind]*listed{}, name: name}
}

// List implements source.Source.
func (r *recorder) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if r.namespace != "" && q.Kind.Group == fleetGroup && !slices.Contains(q.Fallback, r.namespace) {
		q.Fallback = append(slices.Clone(q.Fallback), r.namespace)
	}
	r.want(q.Kind, capturedLabels(q.LabelSelector), slices.Concat(q.Namespaces, q.Fallback))
	return r.Source.List(ctx, q, func(o source.Object) error {
		if m, err := o.ReadMeta(); err == nil {
			r.mu.Lock()
			r.name(m.Metadata.Name)
			r.name(m.Metadata.Namespace)
			r.mu.Unlock()
		}
		return yield(o)
	})
}

// capturedLabels returns the label selector with which the objects of a query are captured; empty for all of their
// kind.
func capturedLabels(selector string) string {
	switch {
	case strings.HasPrefix(selector, fleet.HashLabel):
		return fleet.HashLabel
	case selector == fleet.AgentPods:
		return selector
	}
	return ""
}

func (r *recorder) want(gvk schema.GroupVersionKind, labels string, fallback []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kinds[gvk] == nil {
		r.kinds[gvk] = &listed{labels: labels, fallback: map[string]bool{}}
	}
	k := r.kinds[gvk]
	if k.labels != labels {
		k.labels = ""
	}
	for _, ns := range fallback {
		k.fallback[ns] = ns != ""
	}
}

// others are the kinds that other verbs and other flags of audit read.
var others = []schema.GroupKind{
	{Kind: "ConfigMap"}, {Kind: "Namespace"}, {Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"},
	{Kind: "Secret"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Group: "apps", Kind: "Deployment"},
	{Group: "apps", Kind: "StatefulSet"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
}

// wantOthers adds the kinds of others, and all of Fleet's kinds.
func (r *recorder) wantOthers(kinds *source.Kinds) {
	for _, k := range kinds.All() {
		if k.Group == fleetGroup || slices.Contains(others, k.GroupKind()) {
			if _, version, wanted := r.versionOf(k.GroupKind()); wanted {
				k.Version = version
			}
			r.want(k.GroupVersionKind, "", nil)
		}
	}
}

// versionOf returns a version in which a kind was read, and the label selector of what was read; empty if all objects
// were.
func (r *recorder) versionOf(gk schema.GroupKind) (labels, version string, found bool) {
	for gvk, k := range r.kinds {
		if gvk.GroupKind() != gk {
			continue
		}
		better := k.labels == "" && labels != ""
		if k.labels == labels {
			better = gvk.Version < version
		}
		if !found || better {
			labels, version, found = k.labels, gvk.Version, true
		}
	}
	return labels, version, found
}

// capture is a kind to capture.
type capture struct {
	source.Kind
	query source.Query
	// not are the other versions in which objects of the kind were read.
	not []string
}

// plan returns the kinds to capture, each in one version, sorted. Secrets are the first: if they are not those of which
// the values are known, nothing else is written.
func (r *recorder) plan(kinds *source.Kinds) []capture {
	byKind := map[schema.GroupKind]*capture{}
	for _, gvk := range slices.SortedFunc(maps.Keys(r.kinds), source.CompareKinds) {
		k, _, served := kinds.Lookup(gvk)
		if !served {
			continue
		}
		want, gk := r.kinds[gvk], gvk.GroupKind()
		labels, version, _ := r.versionOf(gk)
		c := byKind[gk]
		if c == nil {
			c = &capture{}
			byKind[gk] = c
		}
		if gvk.Version != version {
			if want.labels == "" {
				c.not = append(c.not, gvk.GroupVersion().String())
			}
			continue
		}
		c.Kind, c.query = k, source.Query{Kind: gvk, LabelSelector: labels,
			Fallback: slices.Sorted(maps.Keys(want.fallback))}
	}
	var out []capture
	for _, c := range byKind {
		if c.Resource != "" {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b capture) int {
		return cmp.Or(a.order()-b.order(), source.CompareKinds(a.GroupVersionKind, b.GroupVersionKind))
	})
	return out
}

// isSecrets reports whether the kind is that of Secrets.
func (c capture) isSecrets() bool { return c.GroupKind() == secretKind.GroupKind() }

func (c capture) order() int {
	if c.isSecrets() {
		return 0
	}
	return 1
}

// resource is the name of the kind in API paths, with its group.
func (c capture) resource() string {
	return schema.GroupResource{Group: c.Group, Resource: c.Resource}.String()
}
