// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// webhookCluster is a source with a webhook, whose ClusterRoleBinding names a namespace, and with ConfigMaps by
// namespace.
type webhookCluster struct {
	source.Source
	binding    string
	configMaps map[string]string
}

func (c *webhookCluster) List(_ context.Context, q source.Query,
	yield func(source.Object) error) (source.Coverage, error) {
	raw := c.binding
	if q.Kind.Kind == "ConfigMap" {
		raw = c.configMaps[q.Namespaces[0]]
	}
	if raw == "" {
		return source.Coverage{}, nil
	}
	return source.Coverage{}, yield(source.Object{Item: object.Item{Raw: []byte(raw)}})
}

// TestReadSeen checks that only the namespace counts that the ClusterRoleBinding of the webhook names, and the order.
func TestReadSeen(t *testing.T) {
	requests := func(user string) string {
		return `{"metadata":{"name":"fleetdoctor-webhook-seen"},"data":{"requests":"` +
			`{\"time\":\"2026-01-02T03:04:05Z\",\"verb\":\"delete\",\"user\":\"old\"}\nno request\n{}\n` +
			`{\"time\":\"2026-01-02T03:04:06Z\",\"verb\":\"update\",\"user\":\"` + user +
			`\",\"manager\":\"kubectl-label\",\"lost\":[\"label a\",\"annotation b\"]}\n"}}`
	}
	c := &webhookCluster{binding: `{"metadata":{"name":"fleetdoctor-webhook"},"subjects":[{"kind":"ServiceAccount",` +
		`"name":"own","namespace":"doctor"}]}`,
		configMaps: map[string]string{"doctor": requests("alice"), "fleetdoctor-system": requests("mallory")}}
	got, err := journal.ReadSeen(t.Context(), c)
	if err != nil || len(got) != 2 || got[1].User != "old" {
		t.Fatalf("%+v: %v", got, err)
	}
	want := "alice removed or changed its label a, annotation b with kubectl-label at 2026-01-02T03:04:06Z"
	if diff := cmp.Diff(want, got[0].Sentence()); diff != "" {
		t.Errorf("sentence (-want +got):\n%s", diff)
	}
	c.binding = ""
	if got, err := journal.ReadSeen(t.Context(), c); err != nil || got != nil {
		t.Errorf("without a webhook: %+v: %v", got, err)
	}
}

// TestAttribute checks which entries get the name of a user.
func TestAttribute(t *testing.T) {
	from := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ref := func(name string) object.Ref { return object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: name} }
	entry := func(total int, names ...string) journal.Entry {
		e := journal.Entry{Event: journal.Deleted, From: from, To: from.Add(2 * time.Second), Total: total}
		for _, name := range names {
			e.Objects = append(e.Objects, journal.Object{Ref: ref(name)})
		}
		return e
	}
	seen := func(user, name string, after time.Duration) journal.Seen {
		return journal.Seen{Time: from.Add(after), Verb: journal.Delete, User: user, Ref: ref(name)}
	}
	dropped, known := entry(1, "a"), entry(1, "a")
	dropped.Event, known.By = journal.Dropped, "somebody"
	b := journal.Book{Entries: []journal.Entry{entry(1, "a"), entry(3, "a", "b", "c"), entry(1, "late"), entry(1, "x"),
		dropped, known}}
	update := seen("eve", "x", time.Second)
	update.Verb = journal.Update
	b.Attribute([]journal.Seen{seen("alice", "a", time.Second), seen("alice", "b", 0), seen("bob", "c", time.Second),
		seen("carol", "late", time.Minute), update})
	var got []string
	for _, e := range b.Entries {
		got = append(got, e.By)
	}
	want := []string{"alice, seen by the webhook",
		"alice (2 of 3 objects), bob (1 of 3 objects), seen by the webhook", "", "", "", "somebody"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by (-want +got):\n%s", diff)
	}
}
