// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// server is an API server with one object. A test can change the object, or return an error, before and after each
// write.
type server struct {
	Client
	mu          sync.Mutex
	uid         string
	version     int
	labels      map[string]string
	annotations map[string]string
	deleted     bool
	// before is called before write n is processed, from 0. Its error is the answer.
	before func(s *server, n int) error
	// policy changes the object of a write before it is stored, as a mutating admission policy does.
	policy func(*server)
	// after returns the answer to a stored write.
	after   func(n int) error
	writes  int
	patches []string
}

// only are the Clients that have one for all clusters.
func only(c Client) Clients { return func(object.ClusterID) Client { return c } }

func (s *server) Read(context.Context, object.Ref) (*object.Meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted {
		return nil, apierrors.NewNotFound(configMaps, "theme")
	}
	return s.meta(), nil
}

func (s *server) meta() *object.Meta {
	m := &object.Meta{}
	m.Metadata.UID, m.Metadata.ResourceVersion = s.uid, strconv.Itoa(s.version)
	m.Metadata.Labels, m.Metadata.Annotations = maps.Clone(s.labels), maps.Clone(s.annotations)
	return m
}

func (s *server) Patch(_ context.Context, _ object.Ref, patch []byte) (*object.Meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.writes
	s.writes++
	s.patches = append(s.patches, string(patch))
	if s.before != nil {
		if err := s.before(s, n); err != nil {
			return nil, err
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
		return nil, err
	}
	switch {
	case s.deleted:
		return nil, apierrors.NewNotFound(configMaps, "theme")
	case p.Metadata.UID != s.uid:
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "theme", nil)
	case p.Metadata.ResourceVersion != strconv.Itoa(s.version):
		return nil, apierrors.NewConflict(configMaps, "theme", errors.New("the object has been modified"))
	}
	for into, from := range map[*map[string]string]map[string]*string{&s.labels: p.Metadata.Labels,
		&s.annotations: p.Metadata.Annotations} {
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
	if s.policy != nil {
		s.policy(s)
	}
	s.version++
	if s.after != nil {
		if err := s.after(n); err != nil {
			return nil, err
		}
	}
	return s.meta(), nil
}

// changeOther changes the object, but none of the five keys.
func (s *server) changeOther() { s.version++ }

var theme = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "theme"}

// item is the adoption of an object without ownership metadata.
func item() Item {
	after := ownership.Desired("default-guestbook", "guestbook", "web")
	return Item{RepairedObject: report.RepairedObject{Ref: theme, UID: "u-1", BundleDeployment: "cluster-one/guestbook",
		Release: "web/guestbook",
		Action:  report.ActionAdopt, Changes: changes(ownership.Metadata{}, after)}, ResourceVersion: "1", After: after}
}

func TestApply(t *testing.T) {
	desired := ownership.Desired("default-guestbook", "guestbook", "web")
	for name, tc := range map[string]struct {
		before  func(*server, int) error
		after   func(int) error
		want    report.Outcome
		message string
		writes  int
		adopted bool
	}{
		"without a conflict": {want: report.OutcomeDone, writes: 1, adopted: true},
		"a conflict": {before: func(s *server, n int) error { s.once(n, s.changeOther); return nil },
			want: report.OutcomeDone, writes: 2, adopted: true},
		"permanent conflicts": {before: func(s *server, _ int) error { s.changeOther(); return nil },
			want: report.OutcomeFailed, message: "other programs write to it all the time: ", writes: 13},
		"deleted": {before: func(s *server, _ int) error { s.deleted = true; return nil },
			want: report.OutcomeChanged, message: "it was deleted", writes: 1},
		"created again": {before: func(s *server, _ int) error { s.uid = "u-2"; return nil },
			want:    report.OutcomeChanged,
			message: "it was deleted and created again", writes: 1},
		"adopted for another bundle": {before: func(s *server, _ int) error {
			s.labels = map[string]string{"objectset.rio.cattle.io/hash": "another"}
			s.changeOther()
			return nil
		}, want: report.OutcomeChanged, message: "its ownership metadata was changed", writes: 1},
		"adopted by another run": {before: func(s *server, _ int) error {
			s.labels, s.annotations = fields(desired)
			s.changeOther()
			return nil
		}, want: report.OutcomeDone, writes: 1, adopted: true},
		"forbidden": {before: func(*server, int) error {
			return apierrors.NewForbidden(configMaps, "theme",
				errors.New("no"))
		}, want: report.OutcomeFailed, message: "forbidden", writes: 1},
		"refused by a webhook": {before: func(*server, int) error {
			return apierrors.NewBadRequest("admission webhook \"policy\" denied the request")
		},
			want: report.OutcomeFailed, message: "admission webhook", writes: 1},
		"always invalid": {before: func(*server, int) error {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "theme", nil)
		},
			want: report.OutcomeFailed, message: "invalid", writes: 1},
		"a lost answer": {after: func(int) error { return errors.New("connection reset by peer") },
			want: report.OutcomeDone, writes: 1, adopted: true},
		"a lost write": {before: func(_ *server, n int) error {
			if n == 0 {
				return errors.New("connection reset by peer")
			}
			return nil
		}, want: report.OutcomeDone, writes: 2, adopted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the backoff takes no time
				s := &server{uid: "u-1", version: 1, before: tc.before, after: tc.after}
				items := []Item{item()}
				var settled []int
				if err := Apply(t.Context(), t.Context(), only(s), items,
					func(i int) error { settled = append(settled, i); return nil }); err != nil {
					t.Fatal(err)
				}
				if items[0].Outcome != tc.want || items[0].Unanswered || s.writes != tc.writes || len(settled) != 1 {
					t.Errorf("outcome %s (%s) after %d writes, settled %v; want %s after %d", items[0].Outcome,
						items[0].Message, s.writes, settled, tc.want, tc.writes)
				}
				if !contains(items[0].Message, tc.message) {
					t.Errorf("message %q, want %q", items[0].Message, tc.message)
				}
				if got := ownership.MetadataOf(s.labels, s.annotations) == desired; got != tc.adopted {
					t.Errorf("labels %v, annotations %v", s.labels, s.annotations)
				}
			})
		})
	}
}

func (s *server) once(n int, change func()) {
	if n == 0 {
		change()
	}
}

func contains(s, part string) bool { return (part == "") == (s == "") && strings.Contains(s, part) }

// TestPatch checks that a patch has the preconditions and the keys that change, and no other field.
func TestPatch(t *testing.T) {
	i := item()
	i.Before = ownership.FromValues(map[string]string{"objectset.rio.cattle.io/id": "",
		"app.kubernetes.io/managed-by": "Helm"})
	i.Changes = changes(i.Before, i.After)
	got, err := i.patch()
	const want = `{"metadata":{"annotations":{"meta.helm.sh/release-name":"guestbook",` +
		`"meta.helm.sh/release-namespace":"web",` +
		`"objectset.rio.cattle.io/id":"default-guestbook"},` +
		`"labels":{"objectset.rio.cattle.io/hash":"c5c68538ff9800def965853a87784a250ad1f566"},` +
		`"resourceVersion":"1","uid":"u-1"}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, error %v, want %s", got, err, want)
	}
	i.Changes = changes(i.After, i.Before)
	const back = `{"metadata":{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null,` +
		`"objectset.rio.cattle.io/id":""},"labels":{"objectset.rio.cattle.io/hash":null},"resourceVersion":"1",` +
		`"uid":"u-1"}}`
	if got, err := i.patch(); err != nil || string(got) != back {
		t.Errorf("got %s, error %v, want %s", got, err, back)
	}
}

// TestApplyStops checks that Apply completes the writes in progress and starts no other write if the context ends, or
// if an outcome cannot be recorded.
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
		err := Apply(ctx, t.Context(), only(stopper{call: cancel}), items, func(int) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		checkStopped(t, items)
	})
	t.Run("not recorded", func(t *testing.T) {
		items := many()
		err := Apply(t.Context(), t.Context(), only(stopper{call: func() {}}), items, func(int) error { return full })
		if !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
		checkStopped(t, items)
	})
}

// silent is a server that answers no write.
type silent struct {
	Client
	received func()
}

func (silent) Read(ctx context.Context, _ object.Ref) (*object.Meta, error) { return nil, ctx.Err() }

func (s silent) Patch(ctx context.Context, _ object.Ref, _ []byte) (*object.Meta, error) {
	s.received()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestApplyUnanswered checks that Apply abandons unanswered writes at the end of the second context, and marks each of
// them.
func TestApplyUnanswered(t *testing.T) {
	items := []Item{item(), item()}
	for i := range items {
		items[i].Name = fmt.Sprint("theme-", i)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		finish, expire := context.WithCancel(context.WithoutCancel(ctx))
		received := make(chan struct{}, len(items))
		go func() {
			for range items {
				<-received
			}
			interrupt()
			synctest.Wait()
			expire()
		}()
		settled := 0
		if err := Apply(ctx, finish, only(silent{received: func() { received <- struct{}{} }}), items,
			func(int) error { settled++; return nil }); err != nil {
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

// checkStopped checks that some items were done and all others were not tried.
func checkStopped(t *testing.T, items []Item) {
	t.Helper()
	by := map[report.Outcome]int{}
	for _, i := range items {
		by[i.Outcome]++
	}
	if by[report.OutcomeDone] == 0 || by[report.OutcomeDone] > 2*Concurrency ||
		by[report.OutcomeDone]+by[report.OutcomeNotTried] != len(items) {
		t.Errorf("outcomes %v", by)
	}
}

// stopper accepts every write, and calls a function for each.
type stopper struct {
	Client
	call func()
}

func (stopper) Read(context.Context, object.Ref) (*object.Meta, error) { return &object.Meta{}, nil }

func (s stopper) Patch(ctx context.Context, _ object.Ref, _ []byte) (*object.Meta, error) {
	s.call()
	stored := &object.Meta{}
	stored.Metadata.Labels, stored.Metadata.Annotations = fields(item().After)
	return stored, ctx.Err()
}

// fields returns the labels and the annotations of ownership metadata.
func fields(m ownership.Metadata) (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	for _, k := range ownership.Keys() {
		v, ok := m.Values()[k.Name]
		switch {
		case !ok:
		case k.Label:
			labels[k.Name] = v
		default:
			annotations[k.Name] = v
		}
	}
	return labels, annotations
}

// TestApplyPolicy checks that a write that the server accepted and did not keep is a failure that names the keys, and
// that an undo restores the other keys.
func TestApplyPolicy(t *testing.T) {
	const hash, release = "objectset.rio.cattle.io/hash", "meta.helm.sh/release-name"
	for name, tc := range map[string]struct {
		policy   func(*server)
		message  string
		restored []string // the keys that an undo restores
		refusal  string
	}{
		"drops the hash": {func(s *server) { delete(s.labels, hash) }, "label objectset.rio.cattle.io/hash is gone;",
			[]string{"objectset.rio.cattle.io/id", "app.kubernetes.io/managed-by", release,
				"meta.helm.sh/release-namespace"}, ""},
		"changes the hash": {func(s *server) { s.labels[hash] = "x" }, `label objectset.rio.cattle.io/hash is "x";`,
			[]string{"objectset.rio.cattle.io/id", "app.kubernetes.io/managed-by", release,
				"meta.helm.sh/release-namespace"}, ""},
		"drops all annotations": {func(s *server) { s.annotations = nil },
			"annotation objectset.rio.cattle.io/id is gone, annotation meta.helm.sh/release-name is gone, annotation " +
				"meta.helm.sh/release-namespace is gone;",
			[]string{hash, "app.kubernetes.io/managed-by"}, ""},
		"names another owner": {func(s *server) { s.annotations[release] = "other" },
			`annotation meta.helm.sh/release-name is "other";`, nil,
			`its owner was changed since: annotation meta.helm.sh/release-name is "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{uid: "u-1", version: 1, policy: tc.policy}
			items := []Item{item()}
			if err := Apply(t.Context(), t.Context(), only(s), items, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if items[0].Outcome != report.OutcomeFailed || !strings.Contains(items[0].Message,
				"did not keep it: "+tc.message) || s.writes != 1 {
				t.Errorf("outcome %s after %d writes: %s", items[0].Outcome, s.writes, items[0].Message)
			}
			undo := Item{Before: items[0].After, After: items[0].Before,
				RepairedObject: report.RepairedObject{Ref: theme,
					UID: "u-1"}}
			Undo{}.object(NoFacts{}, &undo, s.meta(), adoptedObject(t, s.labels, s.annotations))
			var restored []string
			for _, c := range undo.Changes {
				restored = append(restored, c.Key)
			}
			if !slices.Equal(restored, tc.restored) || strings.Join(undo.Refusals, "") != tc.refusal {
				t.Errorf("the undo restores %q, refusals %q", restored, undo.Refusals)
			}
			if tc.refusal != "" {
				return
			}
			s.policy = nil
			items = []Item{undo}
			if err := Apply(t.Context(), t.Context(), only(s), items, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			Undo{}.object(NoFacts{}, &items[0], s.meta(), adoptedObject(t, s.labels, s.annotations))
			if items[0].Outcome != report.OutcomeDone || items[0].Action != report.ActionNone {
				t.Errorf("outcome %s (%s), labels %v, annotations %v", items[0].Outcome, items[0].Message, s.labels,
					s.annotations)
			}
		})
	}
}

// TestUnchanged checks that an item that depends on the fields of its object is not written after any other write to
// the object. Other items are written with the new resourceVersion.
func TestUnchanged(t *testing.T) {
	for unchanged, want := range map[bool]report.Outcome{false: report.OutcomeDone, true: report.OutcomeChanged} {
		s := &server{uid: "u-1", version: 1, before: func(s *server, n int) error {
			if n == 0 {
				s.changeOther()
			}
			return nil
		}}
		i := item()
		i.Unchanged = unchanged
		items := []Item{i}
		synctest.Test(t, func(t *testing.T) {
			if err := Apply(t.Context(), t.Context(), only(s), items, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
		if items[0].Outcome != want {
			t.Errorf("unchanged %v: outcome %s, want %s: %s", unchanged, items[0].Outcome, want, items[0].Message)
		}
	}
}

// TestNoClient checks that an object on a cluster that is read from a snapshot is refused by a plan, and is not written
// by an undo.
func TestNoClient(t *testing.T) {
	none := func(object.ClusterID) Client { return nil }
	items := []Item{item(), item()}
	if err := Prepare(t.Context(), none, items[:1], nil); err != nil || items[0].Action != report.ActionRefuse {
		t.Errorf("%s, %v", items[0].Action, err)
	}
	if err := Apply(t.Context(), t.Context(), none, items, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if items[1].Outcome != report.OutcomeFailed || items[1].Message != captured {
		t.Errorf("%s: %q", items[1].Outcome, items[1].Message)
	}
}
