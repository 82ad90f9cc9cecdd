// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

// server is an API server that holds one object, and does to a write what a test wants.
type server struct {
	mu      sync.Mutex
	uid     string
	version int
	labels  map[string]string
	notes   map[string]string
	deleted bool
	// before is called before the write number n is looked at, from 0; an error of it is the answer.
	before func(s *server, n int) error
	// after is the answer to a write that was stored.
	after   func(n int) error
	writes  int
	patches []string
}

func (s *server) Read(context.Context, object.Ref) (*object.Meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted {
		return nil, apierrors.NewNotFound(configMaps, "theme")
	}
	m := &object.Meta{}
	m.Metadata.UID, m.Metadata.ResourceVersion = s.uid, strconv.Itoa(s.version)
	m.Metadata.Labels, m.Metadata.Annotations = maps.Clone(s.labels), maps.Clone(s.notes)
	return m, nil
}

func (s *server) Patch(_ context.Context, _ object.Ref, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.writes
	s.writes++
	s.patches = append(s.patches, string(patch))
	if s.before != nil {
		if err := s.before(s, n); err != nil {
			return err
		}
	}
	var p struct {
		Metadata struct {
			UID             string             `json:"uid"`
			ResourceVersion string             `json:"resourceVersion"`
			Labels          map[string]*string `json:"labels"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return err
	}
	switch {
	case s.deleted:
		return apierrors.NewNotFound(configMaps, "theme")
	case p.Metadata.UID != s.uid:
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "theme", nil)
	case p.Metadata.ResourceVersion != strconv.Itoa(s.version):
		return apierrors.NewConflict(configMaps, "theme", errors.New("the object has been modified"))
	}
	for into, from := range map[*map[string]string]map[string]*string{&s.labels: p.Metadata.Labels, &s.notes: p.Metadata.Annotations} {
		if *into == nil {
			*into = map[string]string{}
		}
		for k, v := range from {
			if v == nil {
				delete(*into, k)
			} else {
				(*into)[k] = *v
			}
		}
	}
	s.version++
	if s.after != nil {
		return s.after(n)
	}
	return nil
}

// written is what somebody else changes of an object that is none of the five keys.
func (s *server) written() { s.version++ }

var theme = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "theme"}

// item is the adoption of an object that has no mark.
func item() Item {
	after := ownership.Desired("default-guestbook", "guestbook", "web")
	return Item{AdoptedObject: report.AdoptedObject{Ref: theme, UID: "u-1", BundleDeployment: "cluster-one/guestbook", Release: "web/guestbook",
		Action: report.ActionAdopt, Changes: changes(ownership.Metadata{}, after)}, ResourceVersion: "1", After: after}
}

func TestApply(t *testing.T) {
	marked := ownership.Desired("default-guestbook", "guestbook", "web")
	for name, tc := range map[string]struct {
		before  func(*server, int) error
		after   func(int) error
		want    report.Outcome
		says    string
		writes  int
		stamped bool
	}{
		"at once":    {want: report.OutcomeDone, writes: 1, stamped: true},
		"a conflict": {before: func(s *server, n int) error { s.once(n, s.written); return nil }, want: report.OutcomeDone, writes: 2, stamped: true},
		"a storm":    {before: func(s *server, _ int) error { s.written(); return nil }, want: report.OutcomeFailed, says: "other programs write to it all the time: ", writes: 13},
		"deleted":    {before: func(s *server, _ int) error { s.deleted = true; return nil }, want: report.OutcomeChanged, says: "it was deleted", writes: 1},
		"created anew": {before: func(s *server, _ int) error { s.uid = "u-2"; return nil }, want: report.OutcomeChanged,
			says: "it was deleted and created again", writes: 1},
		"taken by another": {before: func(s *server, _ int) error {
			s.labels = map[string]string{"objectset.rio.cattle.io/hash": "another"}
			s.written()
			return nil
		}, want: report.OutcomeChanged, says: "its ownership metadata was changed", writes: 1},
		"adopted by another run": {before: func(s *server, _ int) error {
			s.labels, s.notes = map[string]string{}, map[string]string{}
			for _, k := range ownership.Keys() {
				if k.Label {
					s.labels[k.Name] = marked.Values()[k.Name]
				} else {
					s.notes[k.Name] = marked.Values()[k.Name]
				}
			}
			s.written()
			return nil
		}, want: report.OutcomeDone, writes: 1, stamped: true},
		"forbidden": {before: func(*server, int) error { return apierrors.NewForbidden(configMaps, "theme", errors.New("no")) }, want: report.OutcomeFailed, says: "forbidden", writes: 1},
		"refused by a webhook": {before: func(*server, int) error {
			return apierrors.NewBadRequest("admission webhook \"policy\" denied the request")
		},
			want: report.OutcomeFailed, says: "admission webhook", writes: 1},
		"invalid, whatever is written": {before: func(*server, int) error {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "theme", nil)
		},
			want: report.OutcomeFailed, says: "invalid", writes: 1},
		"an answer that was lost": {after: func(int) error { return errors.New("connection reset by peer") }, want: report.OutcomeDone, writes: 1, stamped: true},
		"a write that was lost": {before: func(_ *server, n int) error {
			if n == 0 {
				return errors.New("connection reset by peer")
			}
			return nil
		}, want: report.OutcomeDone, writes: 2, stamped: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // waiting takes no time
				s := &server{uid: "u-1", version: 1, before: tc.before, after: tc.after}
				items := []Item{item()}
				var settled []int
				if err := Apply(t.Context(), t.Context(), s, items, func(i int) error { settled = append(settled, i); return nil }); err != nil {
					t.Fatal(err)
				}
				if items[0].Outcome != tc.want || items[0].Unanswered || s.writes != tc.writes || len(settled) != 1 {
					t.Errorf("outcome %s (%s) after %d writes, settled %v; want %s after %d", items[0].Outcome, items[0].Message, s.writes, settled, tc.want, tc.writes)
				}
				if !contains(items[0].Message, tc.says) {
					t.Errorf("message %q, want %q", items[0].Message, tc.says)
				}
				if got := ownership.MetadataOf(s.labels, s.notes) == marked; got != tc.stamped {
					t.Errorf("labels %v, annotations %v", s.labels, s.notes)
				}
			})
		})
	}
}

func (s *server) once(n int, do func()) {
	if n == 0 {
		do()
	}
}

func contains(s, part string) bool { return (part == "") == (s == "") && strings.Contains(s, part) }

// TestPatch holds that a write has its preconditions, the keys that change, and nothing else.
func TestPatch(t *testing.T) {
	i := item()
	i.Before = ownership.FromValues(map[string]string{"objectset.rio.cattle.io/id": "", "app.kubernetes.io/managed-by": "Helm"})
	i.Changes = changes(i.Before, i.After)
	got, err := i.patch()
	const want = `{"metadata":{"annotations":{"meta.helm.sh/release-name":"guestbook","meta.helm.sh/release-namespace":"web",` +
		`"objectset.rio.cattle.io/id":"default-guestbook"},"labels":{"objectset.rio.cattle.io/hash":"c5c68538ff9800def965853a87784a250ad1f566"},` +
		`"resourceVersion":"1","uid":"u-1"}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, error %v, want %s", got, err, want)
	}
	i.Changes = changes(i.After, i.Before)
	const back = `{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null,` +
		`"objectset.rio.cattle.io/id":""},"labels":{"objectset.rio.cattle.io/hash":null},"resourceVersion":"1","uid":"u-1"}}`
	if got, err := i.patch(); err != nil || string(got) != back {
		t.Errorf("got %s, error %v, want %s", got, err, back)
	}
}

// TestApplyStops holds that the end of the context lets what was begun come to its end and begins nothing more, and that so does an outcome
// that cannot be recorded.
func TestApplyStops(t *testing.T) {
	many := func() []Item {
		var out []Item
		for i := range 100 {
			x := item()
			x.Name = fmt.Sprint("theme-", i)
			out = append(out, x)
		}
		return out
	}
	full := errors.New("no space left on device")
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		items := many()
		err := Apply(ctx, t.Context(), stopper{cancel}, items, func(int) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		count(t, items)
	})
	t.Run("not recorded", func(t *testing.T) {
		items := many()
		err := Apply(t.Context(), t.Context(), stopper{func() {}}, items, func(int) error { return full })
		if !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
		count(t, items)
	})
}

// silent answers no write.
type silent struct{ asked func() }

func (silent) Read(ctx context.Context, _ object.Ref) (*object.Meta, error) { return nil, ctx.Err() }

func (s silent) Patch(ctx context.Context, _ object.Ref, _ []byte) error {
	s.asked()
	<-ctx.Done()
	return ctx.Err()
}

// TestApplyUnanswered holds that the end of the second context gives up the writes that no server answers, and says so of each.
func TestApplyUnanswered(t *testing.T) {
	items := []Item{item(), item()}
	for i := range items {
		items[i].Name = fmt.Sprint("theme-", i)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		finish, over := context.WithCancel(context.WithoutCancel(ctx))
		asked := make(chan struct{}, len(items))
		go func() {
			for range items {
				<-asked
			}
			interrupt()
			synctest.Wait()
			over()
		}()
		settled := 0
		if err := Apply(ctx, finish, silent{func() { asked <- struct{}{} }}, items, func(int) error { settled++; return nil }); err != nil {
			t.Error(err)
		}
		for _, i := range items {
			if i.Outcome != report.OutcomeFailed || !i.Unanswered || i.Message == "" {
				t.Errorf("%s: outcome %s (%s)", i.Name, i.Outcome, i.Message)
			}
		}
		if settled != len(items) {
			t.Errorf("%d outcomes were recorded", settled)
		}
	})
}

// count holds that some items were done and the others not tried, with nothing between.
func count(t *testing.T, items []Item) {
	t.Helper()
	by := map[report.Outcome]int{}
	for _, i := range items {
		by[i.Outcome]++
	}
	if by[report.OutcomeDone] == 0 || by[report.OutcomeDone] > 2*Concurrency || by[report.OutcomeDone]+by[report.OutcomeNotTried] != len(items) {
		t.Errorf("outcomes %v", by)
	}
}

// stopper takes every write, and calls a function at each.
type stopper struct{ call func() }

func (stopper) Read(context.Context, object.Ref) (*object.Meta, error) { return &object.Meta{}, nil }

func (s stopper) Patch(ctx context.Context, _ object.Ref, _ []byte) error {
	s.call()
	return ctx.Err()
}
