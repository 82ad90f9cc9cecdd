// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// listing is a source with ConfigMaps.
type listing struct {
	source.Source
	raw   []string
	query source.Query
}

func (l *listing) List(_ context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	l.query = q
	for _, raw := range l.raw {
		if err := yield(source.Object{Item: object.Item{Raw: []byte(raw)}}); err != nil {
			return source.Coverage{}, err
		}
	}
	return source.Coverage{}, nil
}

// TestRead checks the order of the entries, and that damaged ones are counted.
func TestRead(t *testing.T) {
	src := &listing{raw: []string{
		`{"data":{"entries":"{\"event\":\"Deleted\",\"to\":\"2026-01-02T03:04:05Z\",` +
			`\"objects\":[{\"apiVersion\":\"v1\",\"kind\":\"Secret\",` +
			`\"namespace\":\"shop\",\"name\":\"a\"}]}\nno entry\n{}\n"}}`,
		`{"data":{"entries":"{\"event\":\"Uninstalled\",\"to\":\"2026-01-02T03:04:06Z\"}\n"}}`,
		`{"data":7}`,
	}}
	got, err := journal.Read(t.Context(), src, "auditor")
	if err != nil {
		t.Fatal(err)
	}
	if src.query.LabelSelector != "fleetdoctor.io/journal=true" || len(src.query.Namespaces) != 1 {
		t.Errorf("the query is %+v", src.query)
	}
	if len(got.Entries) != 2 || got.Damaged != 3 {
		t.Fatalf("the book is %+v", got)
	}
	first, second := got.Entries[0], got.Entries[1]
	if first.Event != journal.Uninstalled || !second.To.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("the entries are %+v", got.Entries)
	}
	if !second.Has(object.Key{Kind: "Secret", Namespace: "shop", Name: "a"}) || first.Has(object.Key{Kind: "Secret"}) {
		t.Error("the objects of the entries are wrong")
	}
}

// TestNamespace finds the namespace of the auditor in its ClusterRoleBinding.
func TestNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  []string
		want string
	}{
		"none": {nil, "fleetdoctor-system"},
		"elsewhere": {[]string{`{"metadata":{"name":"fleetdoctor-auditor"},"subjects":[{"kind":"Group","name":"x"},` +
			`{"kind":"ServiceAccount","name":"fleetdoctor-auditor","namespace":"monitoring"}]}`}, "monitoring"},
		"another name": {[]string{`{"metadata":{"name":"other"},"subjects":[{"kind":"ServiceAccount",` +
			`"namespace":"tenant"}]}`}, "fleetdoctor-system"},
		"damaged": {[]string{`{"metadata":7}`}, "fleetdoctor-system"},
	} {
		src := &listing{raw: tc.raw}
		got, _, err := journal.Namespace(t.Context(), src)
		if err != nil || got != tc.want || src.query.Kind.Kind != "ClusterRoleBinding" {
			t.Errorf("%s: namespace %q, error %v, query %+v", name, got, err, src.query)
		}
	}
}
