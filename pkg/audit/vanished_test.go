// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// withJournal is a source with the journal of an auditor.
type withJournal struct {
	source.Source
	entries string // as a JSON string
	lists   int
}

func (s *withJournal) List(ctx context.Context, q source.Query,
	yield func(source.Object) error) (source.Coverage, error) {
	if q.LabelSelector != "fleetdoctor.io/journal=true" {
		return s.Source.List(ctx, q, yield)
	}
	s.lists++
	if !slices.Equal(q.Namespaces, []string{"fleetdoctor-system"}) {
		return source.Coverage{}, nil // a tenant's
	}
	raw := []byte(`{"data":{"entries":` + s.entries + `}}`)
	return source.Coverage{}, yield(source.Object{Item: object.Item{Raw: raw}})
}

// TestVanished checks that a missing object has the time in the journal as evidence, that another object has none, and
// that an audit without a missing object does not read the journal.
func TestVanished(t *testing.T) {
	const before = `{\"event\":\"Deleted\",\"from\":\"2026-01-02T07:12:03.5Z\",\"to\":\"2026-01-02T07:12:05Z\",` +
		`\"bundleDeployment\":\"cluster-one/guestbook\",\"objects\":[{\"apiVersion\":\"v1\",` +
		`\"kind\":\"ConfigMap\",\"namespace\":\"web\",\"name\":\"`
	for _, test := range []struct {
		name, entries string
		lists         int
		want          string
	}{
		{"missing", `"` + before + `deleted\"}]}\n"`, 1, "between 2026-01-02T07:12:03Z and 2026-01-02T07:12:05Z"},
		{"missing", `"` + strings.Replace(before, "05Z", "03.9Z", 1) + `deleted\"}]}\n"`, 1, "at 2026-01-02T07:12:03Z"},
		{"missing", `"` + before + `other\"}]}\n"`, 1, ""},
		{"ready", `""`, 0, ""},
	} {
		src := &withJournal{Source: readCase(t, casesDir+"/"+test.name+".yaml").open(t), entries: test.entries}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, f := range got.Findings {
			_, after, _ := strings.Cut(strings.Join(f.Evidence, "\n"), "it was deleted ")
			when, _, _ := strings.Cut(after, ",")
			found += when
		}
		if found != test.want || src.lists != test.lists {
			t.Errorf("%s: the evidence is %q, want %q; %d lists, want %d", test.name, found, test.want, src.lists,
				test.lists)
		}
	}
}
