// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
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
)

// The cluster of these tests: bundle guestbook desires ConfigMap object-0; shop is another bundle; plain is a Helm
// release without a bundle; alpha and beta both desire object-5; the bundle of the agent desires object-9. gone is the
// metadata of a bundle that does not exist.
var (
	guestbook = ownership.Desired("default-guestbook", "guestbook", "web")
	shop      = ownership.Desired("default-shop", "shop", "web")
	gone      = ownership.Desired("default-gone", "gone", "web")
	alpha     = ownership.Desired("default-alpha", "alpha", "web")
	beta      = ownership.Desired("default-beta", "beta", "web")
)

func mutatingIndex(tb testing.TB) *index.Index {
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
		e, err := desired.ReadRevision(rec.Value())
		if err != nil {
			tb.Fatal(err)
		}
		r.Set(e)
	}
	return r
}

// write is a request and the facts about it that are not in the index.
type write struct {
	Key                   object.Key
	Manager               string
	Old, New              *object.Meta
	Exact, Ignored, Stale bool
}

// mutateIn decides about a write with the facts of an index.
func mutateIn(x *index.Index, w write) Decision {
	labels := map[string]string{IgnoreLabel: fmt.Sprint(w.Ignored)}
	o := Options{Index: x, Namespaces: namespaces{w.Key.Namespace: labels}, Live: func(string) bool { return !w.Stale }}
	req := Request{Key: w.Key, Manager: w.Manager, Old: w.Old, New: w.New}
	return mutate(req, o.facts(req, x.Lookup(w.Key), false), w.Exact)
}

// text returns warnings with their codes.
func text(warnings []Warning) string {
	var out []string
	for _, w := range warnings {
		out = append(out, w.String())
	}
	return strings.Join(out, "\n")
}

func configMapKey(name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: "web", Name: name}
}

// withMetadata returns an object with ownership metadata and further changes.
func withMetadata(m ownership.Metadata, changes ...func(*object.Meta)) *object.Meta {
	out := &object.Meta{APIVersion: "v1", Kind: "ConfigMap"}
	out.Metadata.Labels, out.Metadata.Annotations = map[string]string{"app": "web"}, map[string]string{}
	writeKeys(out, m.Values())
	for _, change := range changes {
		change(out)
	}
	return out
}

// writeKeys sets keys in an object, like a patch.
func writeKeys(m *object.Meta, s map[string]string) {
	for _, k := range ownership.Keys() {
		if v, ok := s[k.Name]; ok && k.Label {
			m.Metadata.Labels[k.Name] = v
		} else if ok {
			m.Metadata.Annotations[k.Name] = v
		}
	}
}

// helmOnly returns the metadata that takeOwnership writes.
func helmOnly(m ownership.Metadata) ownership.Metadata { m.Hash, m.SetID = "", ""; return m }

func label(k, v string) func(*object.Meta) {
	return func(m *object.Meta) { m.Metadata.Labels[k] = v }
}

func annotation(k, v string) func(*object.Meta) {
	return func(m *object.Meta) { m.Metadata.Annotations[k] = v }
}

func controller(m *object.Meta) {
	m.Metadata.OwnerReferences = append(m.Metadata.OwnerReferences,
		object.Owner{Kind: "Shop", Name: "shop", Controller: true})
}

func deleting(m *object.Meta) { m.Metadata.DeletionTimestamp = "2026-11-20T08:00:00Z" }

func TestDecide(t *testing.T) {
	none := ownership.Metadata{}
	mixed := func(change func(*ownership.Metadata)) ownership.Metadata { m := guestbook; change(&m); return m }
	for _, tc := range []struct {
		name    string
		req     write
		want    Reason
		bundle  string // not compared if empty
		lost    bool
		warning []string
	}{
		// A part of the metadata.
		{"Helm annotations, created", write{New: withMetadata(helmOnly(guestbook))}, Adopted, "guestbook", false, nil},
		{"Helm annotations, updated", write{Old: withMetadata(helmOnly(guestbook)),
			New: withMetadata(helmOnly(guestbook))}, Adopted, "", true, nil},
		{"Helm annotations added", write{Old: withMetadata(none), New: withMetadata(helmOnly(guestbook))}, Adopted, "",
			true, nil},
		{"the id without the hash", write{New: withMetadata(ownership.Metadata{SetID: guestbook.SetID})}, Adopted, "",
			false, nil},
		{"the hash without the id", write{New: withMetadata(ownership.Metadata{Hash: guestbook.Hash})}, Adopted, "",
			false, nil},
		{"the id with a wrong hash",
			write{New: withMetadata(mixed(func(m *ownership.Metadata) { m.Hash = gone.Hash }))},
			Adopted, "", false, nil},
		{"Helm annotations with an unknown set", write{New: withMetadata(mixed(func(m *ownership.Metadata) {
			m.Hash, m.SetID = gone.Hash, gone.SetID
		}))}, Adopted, "", false, nil},

		// Metadata removed or changed.
		{"all removed", write{Old: withMetadata(guestbook), New: withMetadata(none)}, Restored, "guestbook", false,
			nil},
		{"the hash removed", write{Old: withMetadata(guestbook),
			New: withMetadata(mixed(func(m *ownership.Metadata) { m.Hash = "" }))}, Restored, "", false, nil},
		{"the id removed", write{Old: withMetadata(guestbook),
			New: withMetadata(mixed(func(m *ownership.Metadata) { m.SetID = "" }))}, Restored, "", false, nil},
		{"an unknown hash", write{Old: withMetadata(guestbook),
			New: withMetadata(mixed(func(m *ownership.Metadata) { m.Hash = "x" }))}, Restored, "", false, nil},
		{"all removed, with a controller", write{Old: withMetadata(guestbook), New: withMetadata(none, controller)},
			Restored, "", false, nil},
		{"Helm annotations removed", write{Old: withMetadata(guestbook),
			New: withMetadata(ownership.Metadata{Hash: guestbook.Hash, SetID: guestbook.SetID})}, Owned, "", false,
			nil},

		// Nothing to do.
		{"owned", write{New: withMetadata(guestbook)}, Owned, "guestbook", false, nil},
		{"not desired", write{Key: configMapKey("object-2"), New: withMetadata(helmOnly(guestbook))}, NotDesired, "",
			false, nil},
		{"a copied label", write{Key: configMapKey("object-2"), New: withMetadata(guestbook)}, NotDesired, "", false,
			nil},
		{"another kind", write{Key: object.Key{Kind: "Secret", Namespace: "web", Name: "object-0"},
			New: withMetadata(helmOnly(guestbook))}, NotDesired, "", false, nil},
		{"an object of the agent", write{Key: configMapKey("object-9"),
			New: withMetadata(ownership.Metadata{ReleaseName: "fleet-agent-local", ReleaseNamespace: "web"})},
			NotDesired, "", false, nil},
		{"no metadata", write{New: withMetadata(none)}, NoMetadata, "", false, nil},
		{"managed-by alone", write{New: withMetadata(ownership.Metadata{ManagedBy: "Helm"})}, NoMetadata, "", false,
			nil},
		{"ignored", write{New: withMetadata(helmOnly(guestbook), label(IgnoreLabel, "true"))}, Ignored, "", false, nil},
		{"ignored by its namespace", write{Ignored: true, New: withMetadata(helmOnly(guestbook))}, Ignored, "", false,
			nil},
		{"ignore is false", write{New: withMetadata(helmOnly(guestbook), label(IgnoreLabel, "false"))}, Adopted, "",
			false, nil},
		{"an undo", write{Manager: "fleetdoctor-adopt", Old: withMetadata(guestbook), New: withMetadata(none)}, Ignored,
			"", false, nil},
		{"being deleted", write{Old: withMetadata(guestbook), New: withMetadata(none, deleting)}, Deleting, "", false,
			nil},
		{"Helm annotations, with a controller", write{New: withMetadata(helmOnly(guestbook), controller)}, Controlled,
			"", false, nil},

		{"no space for the id", write{New: withMetadata(helmOnly(guestbook),
			annotation("big", strings.Repeat("x", 256<<10-100)))}, TooLarge, "", false, []string{"bundle guestbook"}},
		{"just enough space", write{New: withMetadata(helmOnly(guestbook),
			annotation("big", strings.Repeat("x", 256<<10-200)))}, Adopted, "", false, nil},

		// Exact adoption.
		{"no metadata, exact", write{Exact: true, New: withMetadata(none)}, Exact, "guestbook", false, nil},
		{"no metadata, exact, stored", write{Exact: true, Old: withMetadata(none), New: withMetadata(none)}, Exact, "",
			true, nil},
		{"with a controller, exact", write{Exact: true, New: withMetadata(none, controller)}, Controlled, "", false,
			nil},
		{"an unknown set, exact", write{Exact: true, New: withMetadata(gone)}, Exact, "", false, nil},
		{"an unknown release, exact", write{Exact: true, New: withMetadata(helmOnly(gone))}, Exact, "", false, nil},

		// Other owners.
		{"an unknown set", write{New: withMetadata(gone)}, NoMetadata, "", false, nil},
		{"another bundle", write{Exact: true, New: withMetadata(shop)}, Foreign, "", false,
			[]string{"bundle guestbook", "bundle shop"}},
		{"the id of another bundle", write{Exact: true, New: withMetadata(ownership.Metadata{SetID: shop.SetID})},
			Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"the set of another bundle with Helm annotations of this",
			write{New: withMetadata(mixed(func(m *ownership.Metadata) { m.Hash, m.SetID = shop.Hash, shop.SetID }))},
			Foreign, "", false, []string{"bundle guestbook", "bundle shop"}},
		{"taken by another bundle", write{Old: withMetadata(guestbook), New: withMetadata(shop)}, Foreign, "", false,
			[]string{"bundle guestbook", "bundle shop"}},
		{"another release", write{Exact: true, New: withMetadata(ownership.Metadata{ReleaseName: "plain",
			ReleaseNamespace: "web"})},
			Foreign, "", false, []string{"bundle guestbook", "Helm release web/plain"}},
		{"another program", write{Exact: true, New: withMetadata(ownership.Metadata{Hash: "x",
			SetID: "cattle-cluster"})}, Foreign, "", false, []string{"bundle guestbook", `"cattle-cluster"`}},
		{"a set with an owner", write{Exact: true, New: withMetadata(ownership.Metadata{Hash: "x"},
			annotation("objectset.rio.cattle.io/owner-name", "a"))},
			Foreign, "", false, []string{"bundle guestbook", "is not the set of a bundle"}},

		// Two bundles desire the object.
		{"two bundles, none named", write{Key: configMapKey("object-5"), Exact: true, New: withMetadata(none)},
			Contested, "", false, []string{"bundle alpha", "bundle beta"}},
		{"two bundles, Helm annotations of one", write{Key: configMapKey("object-5"),
			New: withMetadata(helmOnly(beta))}, Adopted, "beta", false, nil},
		{"two bundles, metadata of one removed", write{Key: configMapKey("object-5"), Old: withMetadata(beta),
			New: withMetadata(none)}, Restored, "beta", false, nil},
		{"two bundles, metadata of one", write{Key: configMapKey("object-5"), New: withMetadata(alpha)}, Owned, "alpha",
			false, nil},
		{"two bundles, the id of one", write{Key: configMapKey("object-5"),
			New: withMetadata(ownership.Metadata{SetID: beta.SetID})}, Adopted, "beta", false, nil},
		{"two bundles, metadata of one removed, release of the other named",
			write{Key: configMapKey("object-5"), Old: withMetadata(alpha), New: withMetadata(helmOnly(beta))},
			Foreign, "alpha", false, []string{"bundle alpha", "Helm release web/beta"}},
		{"two bundles, the other takes the object over",
			write{Key: configMapKey("object-5"), Old: withMetadata(alpha), New: withMetadata(beta)}, Owned, "beta",
			false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.req.Key == (object.Key{}) {
				tc.req.Key = configMapKey("object-0")
			}
			got := mutateIn(mutatingIndex(t), tc.req)
			if got.reason != tc.want || got.lost != tc.lost {
				t.Errorf("%s, lost %t; want %s, %t", got.reason, got.lost, tc.want, tc.lost)
			}
			if got.reason.stamps() != (len(got.set) > 0) {
				t.Errorf("%s writes %v", got.reason, got.set)
			}
			if tc.bundle != "" && got.release.Bundle != tc.bundle {
				t.Errorf("for bundle %q, want %q", got.release.Bundle, tc.bundle)
			}
			if (len(got.warnings) == 0) != (tc.warning == nil) || tc.warning != nil &&
				got.warnings[0].Code != WarningCode(tc.want) {
				t.Errorf("warning %q", text(got.warnings))
			}
			for _, s := range tc.warning {
				if !strings.Contains(text(got.warnings), s) {
					t.Errorf("the warning does not name %s: %s", s, text(got.warnings))
				}
			}
			again(t, mutatingIndex(t), tc.req, got)
		})
	}
}

// again checks that the object has all five keys after a stamp, and that a second decision changes nothing.
func again(tb testing.TB, r *index.Index, req write, d Decision) {
	tb.Helper()
	if len(d.set) == 0 {
		return
	}
	writeKeys(req.New, d.set)
	after := ownership.MetadataOf(req.New.Metadata.Labels, req.New.Metadata.Annotations).Values()
	if diff := cmp.Diff(d.release.Metadata.Values(), after); diff != "" {
		tb.Errorf("keys (-want +got):\n%s", diff)
	}
	if d := mutateIn(r, req); d.reason != Owned || len(d.set) > 0 {
		tb.Errorf("a second decision: %s, writes %v", d.reason, d.set)
	}
}

// TestScopeChanged upgrades a release of an agent that got a scope, so that the set has another hash. An object with
// the old hash has no other owner. The old hash stays while the upgrade is pending, because the upgrade may fail.
func TestScopeChanged(t *testing.T) {
	const scoped = "default-guestbook-scope"
	r := mutatingIndex(t)
	for _, tc := range []struct {
		status string
		want   Reason
		writes string
	}{{"pending-upgrade", Owned, ""}, {"deployed", Adopted, scoped}} {
		with(t, r, record.Record{Bundle: "guestbook", SetID: scoped, Revision: 2, Status: tc.status,
			Objects: record.ConfigMaps("web", 1)})
		d := mutateIn(r, write{Key: configMapKey("object-0"), Old: withMetadata(guestbook),
			New: withMetadata(guestbook)})
		if d.reason != tc.want || d.set["objectset.rio.cattle.io/id"] != tc.writes {
			t.Errorf("%s: %s, %v, %q", tc.status, d.reason, d.set, text(d.warnings))
		}
	}
}

// TestUndecided checks that an unknown owner may exist if a record of the object's namespace could not be read, or one
// of Fleet's namespaces. The records of another namespace do not matter: who writes them must not stop all adoption.
func TestUndecided(t *testing.T) {
	stale := guestbook
	stale.Hash, stale.SetID = gone.Hash, gone.SetID
	for namespace, want := range map[string]Reason{"web": Foreign, "cattle-fleet-system": Foreign,
		"a-tenant": Adopted} {
		r := mutatingIndex(t)
		r.Set(desired.NewRevision(desired.Release{Name: release.Name{Namespace: namespace, Name: "broken", Revision: 1},
			Status: desired.Unreadable}, nil))
		d := mutateIn(r, write{Key: configMapKey("object-0"), New: withMetadata(stale)})
		if d.reason != want || len(d.warnings) == 0 && want == Foreign {
			t.Errorf("a set, and a broken record in %s: %s, %q", namespace, d.reason, text(d.warnings))
		}
		d = mutateIn(r, write{Key: configMapKey("object-0"), Exact: true, New: withMetadata(helmOnly(gone))})
		if foreign := d.reason == Foreign; foreign != (want == Foreign) {
			t.Errorf("a release, and a broken record in %s: %s, %q", namespace, d.reason, text(d.warnings))
		}
		d = mutateIn(r, write{Key: configMapKey("object-0"), New: withMetadata(helmOnly(guestbook))})
		if d.reason != Adopted {
			t.Errorf("Helm annotations of this release, and a broken record in %s: %s", namespace, d.reason)
		}
	}
}

// TestStale checks that an unknown owner may exist if the index may be out of date. If the index is current, the
// metadata of an unknown owner is replaced, and overUnknown is set.
func TestStale(t *testing.T) {
	r := mutatingIndex(t)
	left := guestbook
	left.Hash, left.SetID = gone.Hash, gone.SetID
	for _, tc := range []struct {
		have  ownership.Metadata
		stale bool
		want  Reason
		over  bool
	}{
		{left, true, Foreign, false},
		{left, false, Adopted, true},
		{helmOnly(guestbook), true, Adopted, false},
		{helmOnly(guestbook), false, Adopted, false},
	} {
		d := mutateIn(r, write{Key: configMapKey("object-0"), New: withMetadata(tc.have), Stale: tc.stale})
		if d.reason != tc.want || d.overUnknown != tc.over {
			t.Errorf("%+v, stale %t: %s, over %t; want %s, %t", tc.have, tc.stale, d.reason, d.overUnknown, tc.want,
				tc.over)
		}
	}
}

// TestProperties checks for random metadata before and after a request: the metadata of an existing owner is never
// replaced, only the five keys are written, and a second decision writes nothing.
func TestProperties(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	r := mutatingIndex(t)
	sets := []ownership.Metadata{{}, guestbook, shop, gone, alpha, beta,
		{Hash: "x", SetID: "cattle", ReleaseName: "plain", ReleaseNamespace: "web"}}
	pick := func() ownership.Metadata { return sets[random.IntN(len(sets))] }
	mixed := func() *object.Meta {
		helm := pick()
		return withMetadata(ownership.Metadata{Hash: pick().Hash, SetID: pick().SetID, ManagedBy: pick().ManagedBy,
			ReleaseName: helm.ReleaseName, ReleaseNamespace: helm.ReleaseNamespace})
	}
	existing := []string{guestbook.Hash, shop.Hash, alpha.Hash, beta.Hash}
	stamped := 0
	for range 20000 {
		req := write{Key: configMapKey([]string{"object-0", "object-1", "object-5"}[random.IntN(3)]), New: mixed(),
			Exact: random.IntN(2) == 0}
		if random.IntN(2) == 0 {
			req.Old = mixed()
		}
		d := mutateIn(r, req)
		if len(d.set) == 0 {
			continue
		}
		stamped++
		have := ownership.MetadataOf(req.New.Metadata.Labels, req.New.Metadata.Annotations)
		had := ""
		if req.Old != nil {
			had = req.Old.Metadata.Labels[fleet.HashLabel]
		}
		// The stored hash identifies the owner if the request names no other owner: its removal makes no other bundle
		// the owner.
		desiring := r.Lookup(req.Key)
		if have.Hash == "" && have.SetID == "" && slices.ContainsFunc(desiring,
			func(o desired.Release) bool { return o.Metadata.Hash == had }) && d.release.Metadata.Hash != had {
			t.Fatalf("taken from an existing owner that desires the object: %+v, before %+v", have, req.Old)
		}
		if have.Hash != d.release.Metadata.Hash && slices.Contains(existing, have.Hash) {
			t.Fatalf("the hash of an existing owner is replaced: %+v, before %+v", have, req.Old)
		}
		if !maps.Equal(d.set, ownership.FromValues(d.set).Values()) {
			t.Fatalf("other keys: %v", d.set)
		}
		if again(t, r, req, d); t.Failed() {
			t.Fatalf("metadata %+v, before %+v", have, req.Old)
		}
	}
	if stamped < 1000 {
		t.Errorf("only %d requests were stamped", stamped)
	}
}

// BenchmarkDecide decides with 100,000 objects in the index.
func BenchmarkDecide(b *testing.B) {
	r := index.New()
	const bundles, objects = 200, 500
	for i := range bundles {
		e, err := desired.ReadRevision(record.Record{Bundle: "bundle",
			Namespace: "web" + string(rune('a'+i/26)) + string(rune('a'+i%26)),
			Objects:   record.ConfigMaps("", objects)}.Value())
		if err != nil {
			b.Fatal(err)
		}
		r.Set(e)
	}
	if known, _, _ := r.Size(); known != bundles*objects {
		b.Fatalf("%d objects are known", known)
	}
	want := ownership.Desired("default-bundle", "bundle", "webaa")
	at := func(name string) object.Key { return object.Key{Kind: "ConfigMap", Namespace: "webaa", Name: name} }
	for name, req := range map[string]write{
		"stamped":     {Key: at("object-7"), New: withMetadata(helmOnly(want))},
		"owned":       {Key: at("object-7"), New: withMetadata(want)},
		"not-desired": {Key: at("other"), New: withMetadata(helmOnly(want))},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mutateIn(r, req)
			}
		})
	}
}
