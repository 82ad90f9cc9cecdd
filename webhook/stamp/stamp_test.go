// SPDX-License-Identifier: Apache-2.0

package stamp_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// The cluster of these tests: bundle guestbook desires ConfigMap object-0; shop is another bundle that lives; plain a Helm release that is
// none of Fleet's; alpha and beta both desire object-5; the agent's own bundle desires object-9.
var (
	guestbook = ownership.Wanted("default-guestbook", "guestbook", "web")
	shop      = ownership.Wanted("default-shop", "shop", "web")
	gone      = ownership.Wanted("default-gone", "gone", "web")
	alpha     = ownership.Wanted("default-alpha", "alpha", "web")
	beta      = ownership.Wanted("default-beta", "beta", "web")
)

func cluster(tb testing.TB) *index.Index {
	tb.Helper()
	named := func(name string) []object.Ref {
		return []object.Ref{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: name}}
	}
	r := index.New()
	for _, rec := range []record.Record{
		{Bundle: "guestbook", Objects: named("object-0")},
		{Bundle: "shop", Objects: named("object-1")},
		{Bundle: "plain", Plain: true, Objects: named("object-0")},
		{Bundle: "alpha", Objects: named("object-5")},
		{Bundle: "beta", Objects: named("object-5")},
		{Bundle: "fleet-agent-local", Objects: named("object-9")},
	} {
		e, err := index.Read(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

func key(name string) object.Key { return object.Key{Kind: "ConfigMap", Namespace: "web", Name: name} }

// marked is an object with marks; what follows changes it further.
func marked(m ownership.Marks, changes ...func(*object.Meta)) *object.Meta {
	out := &object.Meta{APIVersion: "v1", Kind: "ConfigMap"}
	out.Metadata.Labels, out.Metadata.Annotations = map[string]string{"app": "web"}, map[string]string{}
	set(out, m.Stamps())
	for _, change := range changes {
		change(out)
	}
	return out
}

// set writes keys as a patch would.
func set(m *object.Meta, s ownership.Stamps) {
	for _, k := range ownership.Keys() {
		if v, ok := s[k.Name]; ok && k.Label {
			m.Metadata.Labels[k.Name] = v
		} else if ok {
			m.Metadata.Annotations[k.Name] = v
		}
	}
}

// helmOnly are marks as takeOwnership leaves them.
func helmOnly(m ownership.Marks) ownership.Marks { m.Hash, m.SetID = "", ""; return m }

func label(k, v string) func(*object.Meta) {
	return func(m *object.Meta) { m.Metadata.Labels[k] = v }
}

func annotation(k, v string) func(*object.Meta) {
	return func(m *object.Meta) { m.Metadata.Annotations[k] = v }
}

func controller(m *object.Meta) {
	m.Metadata.OwnerReferences = append(m.Metadata.OwnerReferences, object.Owner{Kind: "Shop", Name: "shop", Controller: true})
}

func deleting(m *object.Meta) { m.Metadata.DeletionTimestamp = "2026-11-20T08:00:00Z" }

func TestDecide(t *testing.T) {
	none := ownership.Marks{}
	mixed := func(change func(*ownership.Marks)) ownership.Marks { m := guestbook; change(&m); return m }
	for _, tc := range []struct {
		name    string
		req     stamp.Request
		want    stamp.Reason
		bundle  string // not looked at where it is empty
		lost    bool
		warning []string
	}{
		// What takeOwnership leaves behind, at creation and later.
		{"Helm's marks, created", stamp.Request{New: marked(helmOnly(guestbook))}, stamp.Adopted, "guestbook", false, nil},
		{"Helm's marks, written again", stamp.Request{Old: marked(helmOnly(guestbook)), New: marked(helmOnly(guestbook))}, stamp.Adopted, "", true, nil},
		{"Helm's marks now", stamp.Request{Old: marked(none), New: marked(helmOnly(guestbook))}, stamp.Adopted, "", true, nil},
		{"the id without the hash", stamp.Request{New: marked(ownership.Marks{SetID: guestbook.SetID})}, stamp.Adopted, "", false, nil},
		{"the hash without the id", stamp.Request{New: marked(ownership.Marks{Hash: guestbook.Hash})}, stamp.Adopted, "", false, nil},
		{"the id with a wrong hash", stamp.Request{New: marked(mixed(func(m *ownership.Marks) { m.Hash = gone.Hash }))}, stamp.Adopted, "", false, nil},
		{"Helm's marks with a dead set's", stamp.Request{New: marked(mixed(func(m *ownership.Marks) { m.Hash, m.SetID = gone.Hash, gone.SetID }))}, stamp.Adopted, "", false, nil},

		// What loses its marks.
		{"all gone", stamp.Request{Old: marked(guestbook), New: marked(none)}, stamp.Restored, "guestbook", false, nil},
		{"the hash gone", stamp.Request{Old: marked(guestbook), New: marked(mixed(func(m *ownership.Marks) { m.Hash = "" }))}, stamp.Restored, "", false, nil},
		{"the id gone", stamp.Request{Old: marked(guestbook), New: marked(mixed(func(m *ownership.Marks) { m.SetID = "" }))}, stamp.Restored, "", false, nil},
		{"a nonsense hash", stamp.Request{Old: marked(guestbook), New: marked(mixed(func(m *ownership.Marks) { m.Hash = "x" }))}, stamp.Restored, "", false, nil},
		{"made by a controller", stamp.Request{Old: marked(guestbook), New: marked(none, controller)}, stamp.Restored, "", false, nil},
		{"Helm's alone gone", stamp.Request{Old: marked(guestbook), New: marked(ownership.Marks{Hash: guestbook.Hash, SetID: guestbook.SetID})}, stamp.Owned, "", false, nil},

		// What is as it should be, or nobody's business.
		{"owned", stamp.Request{New: marked(guestbook)}, stamp.Owned, "guestbook", false, nil},
		{"not desired", stamp.Request{Key: key("object-2"), New: marked(helmOnly(guestbook))}, stamp.NotWanted, "", false, nil},
		{"a copied label", stamp.Request{Key: key("object-2"), New: marked(guestbook)}, stamp.NotWanted, "", false, nil},
		{"another kind", stamp.Request{Key: object.Key{Kind: "Secret", Namespace: "web", Name: "object-0"}, New: marked(helmOnly(guestbook))}, stamp.NotWanted, "", false, nil},
		{"of the agent", stamp.Request{Key: key("object-9"), New: marked(ownership.Marks{ReleaseName: "fleet-agent-local", ReleaseNamespace: "web"})}, stamp.NotWanted, "", false, nil},
		{"no mark", stamp.Request{New: marked(none)}, stamp.Unmarked, "", false, nil},
		{"managed-by alone", stamp.Request{New: marked(ownership.Marks{ManagedBy: "Helm"})}, stamp.Unmarked, "", false, nil},
		{"ignored", stamp.Request{New: marked(helmOnly(guestbook), label(stamp.IgnoreLabel, "true"))}, stamp.Ignored, "", false, nil},
		{"ignored by its namespace", stamp.Request{Ignored: true, New: marked(helmOnly(guestbook))}, stamp.Ignored, "", false, nil},
		{"ignore is false", stamp.Request{New: marked(helmOnly(guestbook), label(stamp.IgnoreLabel, "false"))}, stamp.Adopted, "", false, nil},
		{"an undo", stamp.Request{Manager: "fleetdoctor-adopt", Old: marked(guestbook), New: marked(none)}, stamp.Ignored, "", false, nil},
		{"being deleted", stamp.Request{Old: marked(guestbook), New: marked(none, deleting)}, stamp.Deleting, "", false, nil},
		{"Helm's marks on a controller's", stamp.Request{New: marked(helmOnly(guestbook), controller)}, stamp.Controlled, "", false, nil},

		{"no room for the id", stamp.Request{New: marked(helmOnly(guestbook), annotation("big", strings.Repeat("x", 256<<10-100)))}, stamp.TooLarge, "", false, []string{"no room"}},
		{"hardly any room", stamp.Request{New: marked(helmOnly(guestbook), annotation("big", strings.Repeat("x", 256<<10-200)))}, stamp.Adopted, "", false, nil},

		// Bare objects.
		{"no mark, exact", stamp.Request{Exact: true, New: marked(none)}, stamp.Exact, "guestbook", false, nil},
		{"no mark, exact, stored", stamp.Request{Exact: true, Old: marked(none), New: marked(none)}, stamp.Exact, "", true, nil},
		{"a controller's, exact", stamp.Request{Exact: true, New: marked(none, controller)}, stamp.Controlled, "", false, nil},
		{"a dead set's, exact", stamp.Request{Exact: true, New: marked(gone)}, stamp.Exact, "", false, nil},
		{"a dead release's, exact", stamp.Request{Exact: true, New: marked(helmOnly(gone))}, stamp.Exact, "", false, nil},

		// Others.
		{"a dead set's", stamp.Request{New: marked(gone)}, stamp.Unmarked, "", false, nil},
		{"another bundle's", stamp.Request{Exact: true, New: marked(shop)}, stamp.Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"another bundle's id", stamp.Request{Exact: true, New: marked(ownership.Marks{SetID: shop.SetID})}, stamp.Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"another bundle's hash with Helm's marks of this", stamp.Request{New: marked(mixed(func(m *ownership.Marks) { m.Hash, m.SetID = shop.Hash, shop.SetID }))},
			stamp.Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"taken by another bundle", stamp.Request{Old: marked(guestbook), New: marked(shop)}, stamp.Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"another release's", stamp.Request{Exact: true, New: marked(ownership.Marks{ReleaseName: "plain", ReleaseNamespace: "web"})},
			stamp.Foreign, "", false, []string{"bundle guestbook", "Helm release web/plain"}},
		{"another program's", stamp.Request{Exact: true, New: marked(ownership.Marks{Hash: "x", SetID: "cattle-cluster"})}, stamp.Foreign, "", false, []string{"bundle guestbook", `"cattle-cluster"`}},
		{"a controller's set", stamp.Request{Exact: true, New: marked(ownership.Marks{Hash: "x"}, annotation("objectset.rio.cattle.io/owner-name", "a"))},
			stamp.Foreign, "", false, []string{"bundle guestbook", "no bundle's"}},

		// Two that desire it.
		{"of two, none named", stamp.Request{Key: key("object-5"), Exact: true, New: marked(none)}, stamp.Contested, "", false, []string{"bundle alpha", "bundle beta"}},
		{"of two, Helm's marks of one", stamp.Request{Key: key("object-5"), New: marked(helmOnly(beta))}, stamp.Adopted, "beta", false, nil},
		{"of two, one lost it", stamp.Request{Key: key("object-5"), Old: marked(beta), New: marked(none)}, stamp.Restored, "beta", false, nil},
		{"of two, one has it", stamp.Request{Key: key("object-5"), New: marked(alpha)}, stamp.Owned, "alpha", false, nil},
		{"of two, the id of one", stamp.Request{Key: key("object-5"), New: marked(ownership.Marks{SetID: beta.SetID})}, stamp.Adopted, "beta", false, nil},
		{"of two, one loses it and the other's release is named", stamp.Request{Key: key("object-5"), Old: marked(alpha), New: marked(helmOnly(beta))},
			stamp.Foreign, "alpha", false, []string{"bundle alpha", "Helm release web/beta"}},
		{"of two, the other takes it", stamp.Request{Key: key("object-5"), Old: marked(alpha), New: marked(beta)}, stamp.Owned, "beta", false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = key("object-0")
			}
			got := stamp.Decide(cluster(t), tc.req)
			if got.Reason != tc.want || got.Lost != tc.lost {
				t.Errorf("%s, lost %t; want %s, %t", got.Reason, got.Lost, tc.want, tc.lost)
			}
			if got.Reason.Stamps() != (len(got.Set) > 0) {
				t.Errorf("%s writes %v", got.Reason, got.Set)
			}
			if tc.bundle != "" && got.Release.Bundle != tc.bundle {
				t.Errorf("for bundle %q, want %q", got.Release.Bundle, tc.bundle)
			}
			if (got.Warning == "") != (tc.warning == nil) {
				t.Errorf("warning %q", got.Warning)
			}
			for _, s := range tc.warning {
				if !strings.Contains(got.Warning, s) {
					t.Errorf("the warning does not name %s: %s", s, got.Warning)
				}
			}
			again(t, cluster(t), tc.req, got)
		})
	}
}

// again holds that all five keys are there after a stamp, and that a second pass changes nothing.
func again(tb testing.TB, r stamp.Registry, req stamp.Request, d stamp.Decision) {
	tb.Helper()
	if len(d.Set) == 0 {
		return
	}
	set(req.New, d.Set)
	after := ownership.StampsOf(req.New.Metadata.Labels, req.New.Metadata.Annotations)
	if diff := cmp.Diff(d.Release.Metadata.Stamps(), after); diff != "" {
		tb.Errorf("keys (-want +got):\n%s", diff)
	}
	if d := stamp.Decide(r, req); d.Reason != stamp.Owned || len(d.Set) > 0 {
		tb.Errorf("a second pass: %s, writes %v", d.Reason, d.Set)
	}
}

// TestScopeChanged is an upgrade of an agent that got a scope: the set has another hash, and what carries the old one is nobody else's. While
// Helm is at work the old one stays, as the upgrade may fail.
func TestScopeChanged(t *testing.T) {
	const scoped = "default-guestbook-scope"
	r := cluster(t)
	for _, tc := range []struct {
		status string
		want   stamp.Reason
		writes string
	}{{"pending-upgrade", stamp.Owned, ""}, {"deployed", stamp.Adopted, scoped}} {
		with(t, r, record.Record{Bundle: "guestbook", SetID: scoped, Revision: 2, Status: tc.status, Objects: record.ConfigMaps("web", 1)})
		d := stamp.Decide(r, stamp.Request{Key: key("object-0"), Old: marked(guestbook), New: marked(guestbook)})
		if d.Reason != tc.want || d.Set["objectset.rio.cattle.io/id"] != tc.writes {
			t.Errorf("%s: %s, %v, %q", tc.status, d.Reason, d.Set, d.Warning)
		}
	}
}

// TestUndecided holds that where not all is known, an owner who is not known is not one who is gone.
func TestUndecided(t *testing.T) {
	r := cluster(t)
	r.Set(desired.NewRevision[struct{}](desired.Release{Name: release.Name{Namespace: "web", Name: "broken", Revision: 1}, Status: desired.Unreadable}, nil))
	stale := guestbook
	stale.Hash, stale.SetID = gone.Hash, gone.SetID
	for name, m := range map[string]ownership.Marks{"a set": stale, "a release": helmOnly(gone)} {
		if d := stamp.Decide(r, stamp.Request{Key: key("object-0"), Exact: true, New: marked(m)}); d.Reason != stamp.Foreign || d.Warning == "" {
			t.Errorf("%s: %s, %q", name, d.Reason, d.Warning)
		}
	}
	if d := stamp.Decide(r, stamp.Request{Key: key("object-0"), New: marked(helmOnly(guestbook))}); d.Reason != stamp.Adopted {
		t.Errorf("Helm's marks of this release: %s", d.Reason)
	}
}

// TestStale holds the same where the registry may be out of date; where it is not, marks of nobody are written over, and that is said.
func TestStale(t *testing.T) {
	r := cluster(t)
	left := guestbook
	left.Hash, left.SetID = gone.Hash, gone.SetID
	for _, tc := range []struct {
		marks ownership.Marks
		stale bool
		want  stamp.Reason
		over  bool
	}{
		{left, true, stamp.Foreign, false},
		{left, false, stamp.Adopted, true},
		{helmOnly(guestbook), true, stamp.Adopted, false},
		{helmOnly(guestbook), false, stamp.Adopted, false},
	} {
		d := stamp.Decide(r, stamp.Request{Key: key("object-0"), New: marked(tc.marks), Stale: tc.stale})
		if d.Reason != tc.want || d.Over != tc.over {
			t.Errorf("%+v, stale %t: %s, over %t; want %s, %t", tc.marks, tc.stale, d.Reason, d.Over, tc.want, tc.over)
		}
	}
}

// TestProperties holds for any marks before and after: a living owner's are never overwritten, only the five keys are written, and a second
// pass writes nothing.
func TestProperties(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	r := cluster(t)
	sets := []ownership.Marks{{}, guestbook, shop, gone, alpha, beta, {Hash: "x", SetID: "cattle", ReleaseName: "plain", ReleaseNamespace: "web"}}
	pick := func() ownership.Marks { return sets[random.IntN(len(sets))] }
	mixed := func() *object.Meta {
		helm := pick()
		return marked(ownership.Marks{Hash: pick().Hash, SetID: pick().SetID, ManagedBy: pick().ManagedBy, ReleaseName: helm.ReleaseName, ReleaseNamespace: helm.ReleaseNamespace})
	}
	living := []string{guestbook.Hash, shop.Hash, alpha.Hash, beta.Hash}
	stamped := 0
	for range 20000 {
		req := stamp.Request{Key: key([]string{"object-0", "object-1", "object-5"}[random.IntN(3)]), New: mixed(), Exact: random.IntN(2) == 0}
		if random.IntN(2) == 0 {
			req.Old = mixed()
		}
		d := stamp.Decide(r, req)
		if len(d.Set) == 0 {
			continue
		}
		stamped++
		have := ownership.MarksOf(req.New.Metadata.Labels, req.New.Metadata.Annotations)
		had := ""
		if req.Old != nil {
			had = req.Old.Metadata.Labels[fleet.HashLabel]
		}
		// What is stored counts as long as the request names no other: stripping it makes nobody else the owner.
		desirers := r.Lookup(req.Key)
		if have.Hash == "" && have.SetID == "" && slices.ContainsFunc(desirers, func(o desired.Release) bool { return o.Metadata.Hash == had }) && d.Release.Metadata.Hash != had {
			t.Fatalf("taken from a living owner that desires it: %+v, before %+v", have, req.Old)
		}
		if have.Hash != d.Release.Metadata.Hash && slices.Contains(living, have.Hash) {
			t.Fatalf("the hash of a living owner is overwritten: %+v, before %+v", have, req.Old)
		}
		if !maps.Equal(d.Set, d.Set.Marks().Stamps()) || !d.Set.Whole() {
			t.Fatalf("other keys: %v", d.Set)
		}
		if again(t, r, req, d); t.Failed() {
			t.Fatalf("marks %+v, before %+v", have, req.Old)
		}
	}
	if stamped < 1000 {
		t.Errorf("only %d requests were stamped", stamped)
	}
}

// BenchmarkDecide decides with 100,000 known objects.
func BenchmarkDecide(b *testing.B) {
	r := index.New()
	const bundles, objects = 200, 500
	for i := range bundles {
		e, err := index.Read(record.Record{Bundle: "bundle", Namespace: "web" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Objects: record.ConfigMaps("", objects)}.Value())
		if err != nil {
			b.Fatal(err)
		}
		r.Set(e)
	}
	if known, _, _ := r.Size(); known != bundles*objects {
		b.Fatalf("%d objects are known", known)
	}
	want := ownership.Wanted("default-bundle", "bundle", "webaa")
	at := func(name string) object.Key { return object.Key{Kind: "ConfigMap", Namespace: "webaa", Name: name} }
	for name, req := range map[string]stamp.Request{
		"stamped":    {Key: at("object-7"), New: marked(helmOnly(want))},
		"owned":      {Key: at("object-7"), New: marked(want)},
		"not-wanted": {Key: at("other"), New: marked(helmOnly(want))},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stamp.Decide(r, req)
			}
		})
	}
}
