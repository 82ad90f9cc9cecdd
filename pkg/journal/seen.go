// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

const (
	// SeenName is the ConfigMap with what the admission webhook saw, in its namespace.
	SeenName = "fleetdoctor-webhook-seen"
	// SeenKey is its key: one JSON document in each line.
	SeenKey = "requests"
	// webhookBinding is the ClusterRoleBinding of a webhook.
	webhookBinding = "fleetdoctor-webhook"
)

// Verb is the verb of a request.
type Verb string

// The verbs of requests that are written down.
const (
	Delete Verb = "delete"
	Update Verb = "update"
)

// Seen is a request that the admission webhook let pass: it deleted an object of a release of Fleet, or removed or
// changed its ownership metadata. A request that did not pass the webhook leaves nothing.
type Seen struct {
	Time time.Time `json:"time"`
	Verb Verb      `json:"verb"`
	// User made the request. Groups are those of the user, if the webhook writes them down.
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	// Manager is the field manager that the request states, such as kubectl-label; requests to delete state none.
	Manager string `json:"manager,omitempty"`
	object.Ref
	UID string `json:"uid,omitempty"`
	// Lost are the names of the labels and annotations that an update removed or changed.
	Lost []string `json:"lost,omitempty"`
}

// Sentence says what was done and by whom.
func (s *Seen) Sentence() string {
	did := "deleted it"
	if s.Verb == Update {
		did = "removed or changed its " + strings.Join(s.Lost, ", ")
	}
	with := ""
	if s.Manager != "" {
		with = " with " + s.Manager
	}
	return s.User + " " + did + with + " at " + s.Time.UTC().Format(time.RFC3339)
}

// DecodeSeen returns the requests in a text. It leaves out lines that are none.
func DecodeSeen(text string) []Seen {
	out, _ := decodeLines(text, func(s *Seen) time.Time { return s.Time })
	return out
}

// Selects reports whether a query selects ConfigMaps of a journal, or what a webhook saw.
func Selects(q source.Query) bool {
	return q.LabelSelector == Label+"=true" || q.FieldSelector == "metadata.name="+SeenName
}

// ReadSeen reads what the webhook of a cluster saw, the newest request first; nothing without a webhook. Only an
// administrator writes the ClusterRoleBinding that names its namespace.
func ReadSeen(ctx context.Context, src source.Source) ([]Seen, error) {
	namespace, found, err := namespaceIn(ctx, src, webhookBinding)
	if err != nil || !found {
		return nil, err
	}
	q := source.Query{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespaces: []string{namespace},
		FieldSelector: "metadata.name=" + SeenName}
	var out []Seen
	_, err = src.List(ctx, q, func(o source.Object) error {
		var m struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		}
		if object.Into(o.Raw, &m) == nil && m.Metadata.Name == SeenName {
			out = append(out, DecodeSeen(m.Data[SeenKey])...)
		}
		return nil
	})
	slices.SortStableFunc(out, func(x, y Seen) int { return y.Time.Compare(x.Time) })
	return out, err
}

// clockSkew is how much the clocks of the webhook and of the auditor may differ.
const clockSkew = 5 * time.Second

// Attribute says of the entries about deleted objects who deleted them, as far as the webhook saw it. An entry keeps
// what it says already.
func (b *Book) Attribute(seen []Seen) {
	deleted := map[object.Key][]*Seen{}
	for i := range seen {
		if s := &seen[i]; s.Verb == Delete {
			deleted[s.Key()] = append(deleted[s.Key()], s)
		}
	}
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Event == Deleted && e.By == "" {
			e.By = e.deletedBy(deleted)
		}
	}
}

// Deleted reports whether a request to delete an object was made in the time of an entry.
func (s *Seen) Deleted(e *Entry) bool {
	return s.Time.After(e.From.Add(-clockSkew)) && s.Time.Before(e.To.Add(clockSkew))
}

// deletedBy names the users who deleted the objects of an entry, with the number of objects if they did not delete all.
func (e *Entry) deletedBy(deleted map[object.Key][]*Seen) string {
	users := map[string]int{}
	for _, o := range e.Objects {
		for _, s := range deleted[o.Key()] {
			if s.Deleted(e) {
				users[s.User]++
				break
			}
		}
	}
	var out []string
	for _, user := range slices.SortedFunc(maps.Keys(users), func(a, b string) int {
		return cmp.Or(users[b]-users[a], cmp.Compare(a, b))
	}) {
		text := user
		if users[user] < e.Total {
			text = fmt.Sprintf("%s (%d of %d objects)", user, users[user], e.Total)
		}
		out = append(out, text)
	}
	if out == nil {
		return ""
	}
	return strings.Join(out, ", ") + ", seen by the webhook"
}
