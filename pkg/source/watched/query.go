// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// objectName identifies an object of a collection.
type objectName struct{ namespace, name string }

// selector is what a query selects.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

func newSelector(q source.Query) (selector, error) {
	l, err := labels.Parse(q.LabelSelector)
	if err != nil {
		return selector{}, fmt.Errorf("parsing label selector %q: %w", q.LabelSelector, err)
	}
	f, err := fields.ParseSelector(q.FieldSelector)
	if err != nil {
		return selector{}, fmt.Errorf("parsing field selector %q: %w", q.FieldSelector, err)
	}
	return selector{l, f}, nil
}

// mayMatch reports whether the selector may select an object with a name.
func (s selector) mayMatch(n objectName) bool {
	name, exact := s.fields.RequiresExactMatch("metadata.name")
	return !exact || name == n.name
}

// traits are the parts of an object by which queries select it, beside its name.
type traits struct {
	secretType string
	labels     labels.Set
}

// traitsOf returns the traits of an object with its metadata.
func traitsOf(kind schema.GroupVersionKind, raw []byte, m *object.Meta) traits {
	out := traits{labels: m.Metadata.Labels}
	if kind == secretKind {
		var secret struct {
			Type string `json:"type"`
		}
		if object.Into(raw, &secret) == nil { // otherwise the reader of the object reports it as damaged
			out.secretType = secret.Type
		}
	}
	return out
}

// matches reports whether the selector selects an object. known is called only if more than the name matters.
func (s selector) matches(n objectName, known func() traits) bool {
	if s.labels.Empty() && s.fields.Empty() {
		return true
	}
	if !s.mayMatch(n) {
		return false
	}
	t := known()
	set := fields.Set{"metadata.name": n.name, "metadata.namespace": n.namespace, "type": t.secretType}
	return s.fields.Matches(set) && s.labels.Matches(t.labels)
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// The two selections by which Secrets are watched. Records are large, and most readers need only one of the two.
const records, otherSecrets = "type=" + release.SecretType, "type!=" + release.SecretType

// watch is what one watch selects: objects of a kind. It is comparable.
type watch struct {
	kind           schema.GroupVersionKind
	namespace      string // empty for all
	labels, fields string
	metadataOnly   bool
	// slim is true if the content of objects is dropped that the reader remembers. Then they answer no other query.
	slim bool
}

// watchOf returns the narrowest watch for a query in a namespace.
func watchOf(q source.Query, namespace string, selected selector) watch {
	w := watch{kind: q.Kind, namespace: namespace, labels: q.LabelSelector, fields: q.FieldSelector,
		metadataOnly: q.MetadataOnly}
	w.slim = q.Remembered != nil && w == watch{kind: q.Kind, namespace: namespace}
	if q.Kind == secretKind {
		w.labels, w.fields, w.metadataOnly = "", otherSecrets, false
		if t, ok := selected.fields.RequiresExactMatch("type"); ok && t == release.SecretType {
			w.fields = records
		}
	}
	return w
}

// has reports whether the watch selects objects of a kind in a namespace.
func (w watch) has(kind schema.GroupVersionKind, namespace string) bool {
	return w.kind == kind && (w.namespace == "" || w.namespace == namespace)
}

// wider returns watches that select at least the same objects, the narrowest first.
func (w watch) wider() []watch {
	full := w
	full.metadataOnly, full.slim = false, false
	out := []watch{w, full}
	if w.kind != secretKind {
		for _, metadataOnly := range []bool{w.metadataOnly, false} {
			out = append(out, watch{kind: w.kind, namespace: w.namespace, metadataOnly: metadataOnly})
		}
	}
	if w.namespace != "" {
		everywhere := w
		everywhere.namespace = ""
		out = append(out, everywhere.wider()...)
	}
	return out
}

// query returns the query of the watch.
func (w watch) query() source.Query {
	return source.Query{Kind: w.kind, LabelSelector: w.labels, FieldSelector: w.fields, MetadataOnly: w.metadataOnly}
}

// width orders watches of a kind by how much they have of an object, and of how many objects.
func (w watch) width() int {
	n := 0
	for _, wide := range []bool{w.namespace == "", w.fields == "" || w.fields == otherSecrets, w.labels == "",
		!w.metadataOnly, !w.slim} {
		n *= 2
		if wide {
			n++
		}
	}
	return n
}
