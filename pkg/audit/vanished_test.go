// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
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
	raw := []byte(`{"data":{"entries":` + s.entries + `}}`)
	return source.Coverage{}, yield(source.Object{Item: object.Item{Raw: raw}})
}

// TestVanished checks that a missing object has the time in the journal as evidence, that another object has none, and
// that an audit without a missing object does not read the journal.
func TestVanished(t *testing.T) {
	const before = `{\"event\":\"Deleted\",\"from\":\"2026-01-02T07:12:03Z\",\"to\":\"2026-01-02T07:12:05Z\",` +
		`\"bundleDeployment\":\"cluster-one/guestbook\",\"objects\":[{\"apiVersion\":\"v1\",` +
		`\"kind\":\"ConfigMap\",\"namespace\":\"web\",\"name\":\"`
	for _, test := range []struct {
		name, entries string
		lists         int
		want          bool
	}{
		{"missing", `"` + before + `deleted\"}]}\n"`, 1, true},
		{"missing", `"` + before + `other\"}]}\n"`, 1, false},
		{"ready", `""`, 0, false},
	} {
		src := &withJournal{Source: readCase(t, casesDir+"/"+test.name+".yaml").open(t), entries: test.entries}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range got.Findings {
			found = found || f.Code == "FD101" && strings.Contains(strings.Join(f.Evidence, "\n"),
				"it was deleted between 2026-01-02T07:12:03Z and 2026-01-02T07:12:05Z")
		}
		if found != test.want || src.lists != test.lists {
			t.Errorf("%s: the evidence was found: %v, want %v; %d lists, want %d", test.name, found, test.want,
				src.lists, test.lists)
		}
	}
}
