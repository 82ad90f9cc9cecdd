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
	// seen is a request that a webhook saw, as a JSON string; without one, there is no webhook.
	seen string
}

func (s *withJournal) List(ctx context.Context, q source.Query,
	yield func(source.Object) error) (source.Coverage, error) {
	switch {
	case s.seen == "":
	case q.FieldSelector == "metadata.name=fleetdoctor-webhook":
		return source.Coverage{}, yield(source.Object{Item: object.Item{Raw: []byte(
			`{"metadata":{"name":"fleetdoctor-webhook"},"subjects":[{"kind":"ServiceAccount","namespace":"own"}]}`)}})
	case q.FieldSelector == "metadata.name=fleetdoctor-webhook-seen" && slices.Equal(q.Namespaces, []string{"own"}):
		return source.Coverage{}, yield(source.Object{Item: object.Item{Raw: []byte(
			`{"metadata":{"name":"fleetdoctor-webhook-seen"},"data":{"requests":` + s.seen + `}}`)}})
	}
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

// TestSeen checks that a missing object has the user who deleted it as evidence, and the time in the journal only if it
// is about the same deletion.
func TestSeen(t *testing.T) {
	const entry = `"{\"event\":\"Deleted\",\"from\":\"2026-01-02T07:12:03Z\",\"to\":\"2026-01-02T07:12:05Z\",` +
		`\"bundleDeployment\":\"cluster-one/guestbook\",\"objects\":[{\"apiVersion\":\"v1\",` +
		`\"kind\":\"ConfigMap\",\"namespace\":\"web\",\"name\":\"deleted\"}]}\n"`
	request := func(at, name string) string {
		return `"{\"time\":\"2026-01-02T` + at + `Z\",\"verb\":\"delete\",\"user\":\"alice\",\"apiVersion\":\"v1\",` +
			`\"kind\":\"ConfigMap\",\"namespace\":\"web\",\"name\":\"` + name + `\"}\n"`
	}
	const journal, webhook = "it was deleted between", "alice deleted it at 2026-01-02T"
	for _, test := range []struct {
		seen         string
		want, absent string
	}{
		{request("07:12:04", "deleted"), journal, "mallory"},
		{request("07:12:04", "deleted"), webhook + "07:12:04Z (seen by the webhook)", "mallory"},
		{request("08:00:00", "deleted"), webhook + "08:00:00Z", journal},
		{request("06:00:00", "deleted"), journal, webhook}, // of an earlier object
		{request("07:12:04", "other"), journal, webhook},
	} {
		src := &withJournal{Source: readCase(t, casesDir+"/missing.yaml").open(t), entries: entry, seen: test.seen}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands}))
		if err != nil {
			t.Fatal(err)
		}
		evidence := ""
		for _, f := range got.Findings {
			evidence += strings.Join(f.Evidence, "\n") + "\n"
		}
		if !strings.Contains(evidence, test.want) || strings.Contains(evidence, test.absent) {
			t.Errorf("%s: the evidence is %q, want %q and not %q", test.seen, evidence, test.want, test.absent)
		}
	}
}
