// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

func read(tb testing.TB, r record.Record) *index.Revision {
	tb.Helper()
	e, err := desired.ReadRevision(r.Value())
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func configMapKey(namespace, name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// owners returns the newest revision of each release that desires an object and is not being uninstalled.
func owners(x *index.Index, k object.Key) []desired.Release {
	out := slices.DeleteFunc(x.Lookup(k), func(r desired.Release) bool { return r.Status == desired.Uninstalling })
	return slices.CompactFunc(out, func(a, b desired.Release) bool { return a.Release() == b.Release() })
}

// desiredBy returns the releases that desire an object, as "bundle:revision".
func desiredBy(x *index.Index, k object.Key) string {
	var out []string
	for _, o := range owners(x, k) {
		out = append(out, fmt.Sprintf("%s:%d", o.Bundle, o.Revision))
	}
	return strings.Join(out, " ")
}

func inactive(n release.Name) *index.Revision {
	return desired.NewRevision(desired.Release{Name: n, Status: desired.Inactive}, nil)
}

func unreadable(n release.Name) *index.Revision {
	return desired.NewRevision(desired.Release{Name: n, Status: desired.Unreadable}, nil)
}

func TestRead(t *testing.T) {
	e := read(t, record.Record{Bundle: "guestbook", ServiceAccount: "deployer", Objects: []object.Ref{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "other", Name: "a"},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "b"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "b"}, // a duplicate
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "c"},
	}})
	want := desired.Release{Name: release.Name{Namespace: "web", Name: "guestbook", Revision: 1},
		Status: desired.Deployed, Bundle: "guestbook",
		Agents: []desired.Agent{{Namespace: "cattle-fleet-system", ServiceAccount: "deployer"}}, Objects: 4,
		Metadata: ownership.Desired("default-guestbook", "guestbook", "web")}
	if diff := cmp.Diff(want, e.Release); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	r := index.New()
	r.Set(e)
	for k, want := range map[object.Key]string{
		configMapKey("other", "a"): "guestbook:1",
		configMapKey("web", "a"):   "",
		// as for a cluster-scoped object; no request about a ConfigMap has this key
		configMapKey("", "a"):                                                "guestbook:1",
		configMapKey("web", "b"):                                             "guestbook:1",
		configMapKey("WEB", "b"):                                             "",
		{Kind: "Secret", Namespace: "web", Name: "b"}:                        "",
		{Group: "apps", Kind: "Deployment", Namespace: "web", Name: "d"}:     "guestbook:1",
		{Kind: "Deployment", Namespace: "web", Name: "d"}:                    "",
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "c"}: "guestbook:1",
	} {
		if got := desiredBy(r, k); got != want {
			t.Errorf("%s is desired by %q, want %q", k, got, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for name, value := range map[string]string{"empty": "", "not base64": "§",
		"truncated":                        string(record.Record{Bundle: "a"}.Value()[:40]),
		"an invalid name of a bundle":      string(record.Record{Bundle: strings.Repeat("a", 300)}.Value()),
		"an invalid namespace of an agent": string(record.Record{Bundle: "a", AgentNamespace: "no name"}.Value()),
		"an invalid service account":       string(record.Record{Bundle: "a", ServiceAccount: "a:b"}.Value()),
		"too many objects": string(record.Record{Bundle: "a",
			Objects: record.ConfigMaps("web", 20_001)}.Value()),
	} {
		if e, err := desired.ReadRevision([]byte(value)); err == nil {
			t.Errorf("%s: no error; got %+v", name, e)
		}
	}
}

// TestReadIgnores reads objects for which no request exists, and sets that are not Fleet's.
func TestReadIgnores(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"no name":              func(r *record.Record) { r.Objects[0].Name = "" },
		"a generated name":     func(r *record.Record) { r.Objects[0].Name, r.Generate = "run-", true },
		"a name too long":      func(r *record.Record) { r.Objects[0].Name = strings.Repeat("a", 254) },
		"a kind too long":      func(r *record.Record) { r.Objects[0].Kind = strings.Repeat("A", 64) },
		"a group too long":     func(r *record.Record) { r.Objects[0].APIVersion = strings.Repeat("a", 254) + "/v1" },
		"a namespace too long": func(r *record.Record) { r.Objects[0].Namespace = strings.Repeat("a", 64) },
	} {
		rec := record.Record{Bundle: "guestbook", Objects: record.ConfigMaps("web", 1)}
		change(&rec)
		if e := read(t, rec); e.Objects != 0 {
			t.Errorf("%s: %d objects", name, e.Objects)
		}
	}
	longest := object.Ref{APIVersion: strings.Repeat("a", 253) + "/v1", Kind: strings.Repeat("A", 63),
		Namespace: strings.Repeat("a", 63), Name: strings.Repeat("a", 253)}
	if e := read(t, record.Record{Bundle: "guestbook", Objects: []object.Ref{longest}}); e.Objects != 1 {
		t.Errorf("the longest names: %d objects", e.Objects)
	}
	for name, hash := range map[string]string{"an invalid label": "not a label!",
		"the hash of another set": ownership.Desired("default-x", "", "").Hash} {
		if e := read(t, record.Record{Bundle: "guestbook", Hash: hash,
			Objects: record.ConfigMaps("web", 1)}); e.Metadata.Hash != "" || e.Metadata.SetID != "" {
			t.Errorf("%s: the desired hash is %q", name, e.Metadata.Hash)
		}
	}
	r := index.New()
	r.Set(read(t, record.Record{Bundle: "guestbook",
		Objects: []object.Ref{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Namespace: "web",
			Name: "c"}}}))
	if got := desiredBy(r, object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole",
		Name: "c"}); got != "guestbook:1" {
		t.Errorf("a cluster-scoped object with a namespace in its chart is desired by %q", got)
	}
}

// TestClaims checks what the guard needs: older revisions, all agents of a release, and revisions that Helm uninstalls.
func TestClaims(t *testing.T) {
	r := index.New()
	two, one := record.ConfigMaps("web", 2), record.ConfigMaps("web", 1)
	r.Set(read(t, record.Record{Bundle: "guestbook", Objects: two}))
	r.Set(read(t, record.Record{Bundle: "guestbook", Revision: 2, Status: "pending-upgrade", ServiceAccount: "deployer",
		AgentNamespace: "agents", Objects: one}))
	claims := func(k object.Key) []string {
		var out []string
		for _, c := range r.Lookup(k) {
			out = append(out, fmt.Sprint(c.Revision, " ", c.Agents, " ", c.Status == desired.Uninstalling))
		}
		return out
	}
	for name, want := range map[string][]string{
		"object-0": {"2 [{agents deployer} {cattle-fleet-system }] false",
			"1 [{cattle-fleet-system } {agents deployer}] false"},
		"object-1": {"1 [{cattle-fleet-system } {agents deployer}] false"}, // the second revision removes it
	} {
		if diff := cmp.Diff(want, claims(configMapKey("web", name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r.Delete(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})
	r.Set(read(t, record.Record{Bundle: "guestbook", Status: "uninstalling", Objects: two}))
	k := configMapKey("web", "object-0")
	if diff := cmp.Diff([]string{"1 [{cattle-fleet-system }] true"}, claims(k)); diff != "" || desiredBy(r, k) != "" {
		t.Errorf("uninstalling: owners %q, claims (-want +got):\n%s", desiredBy(r, k), diff)
	}
}

// TestManyPending has a release with many pending revisions, which Helm never creates. Only the newest counts and uses
// memory.
func TestManyPending(t *testing.T) {
	r := index.New()
	objects, k := record.ConfigMaps("web", 1), configMapKey("web", "object-0")
	r.Set(read(t, record.Record{Bundle: "guestbook", Objects: objects}))
	const pending = 200
	for i := range pending {
		r.Set(read(t, record.Record{Bundle: "guestbook", Revision: 2 + i, Status: "pending-upgrade",
			ServiceAccount: fmt.Sprintf("a%d", i), Objects: objects}))
	}
	var claims []desired.Release
	allocs := testing.AllocsPerRun(1, func() { claims = r.Lookup(k) })
	if len(claims) != 2 || allocs > 20 {
		t.Fatalf("%d claims in %.0f allocations: %+v", len(claims), allocs, claims)
	}
	if claims[0].Revision != 1+pending || len(claims[0].Agents) != 2 {
		t.Errorf("%d claims in %.0f allocations: %+v", len(claims), allocs, claims)
	}
	if known, _, _ := r.Size(); known != 2 {
		t.Errorf("%d objects, want one of each revision that counts", known)
	}
}

// TestRevisions checks which revisions of a release desire an object.
func TestRevisions(t *testing.T) {
	one, two := record.ConfigMaps("web", 1), record.ConfigMaps("web", 2)
	rev := func(revision int, status string, objects []object.Ref) *index.Revision {
		return read(t, record.Record{Bundle: "guestbook", Revision: revision, Status: status, Objects: objects})
	}
	for _, tc := range []struct {
		name          string
		entries       []*index.Revision
		first, second string // the releases that desire object-0 and object-1
	}{
		{"none", nil, "", ""},
		{"installing", []*index.Revision{rev(1, "pending-install", one)}, "guestbook:1", ""},
		{"installed", []*index.Revision{rev(1, "deployed", one)}, "guestbook:1", ""},
		{"the installation failed", []*index.Revision{rev(1, "failed", one)}, "", ""},
		{"upgrading, with an object more", []*index.Revision{rev(1, "deployed", one), rev(2, "pending-upgrade", two)},
			"guestbook:2", "guestbook:2"},
		{"upgrading, with an object less", []*index.Revision{rev(1, "deployed", two), rev(2, "pending-upgrade", one)},
			"guestbook:2", "guestbook:1"},
		{"upgraded", []*index.Revision{rev(2, "deployed", two), rev(1, "superseded", one)}, "guestbook:2",
			"guestbook:2"},
		{"upgraded, with an object less", []*index.Revision{rev(1, "superseded", two), rev(2, "deployed", one)},
			"guestbook:2", ""},
		{"both deployed", []*index.Revision{rev(1, "deployed", two), rev(2, "deployed", one)}, "guestbook:2", ""},
		{"the upgrade failed", []*index.Revision{rev(1, "deployed", one), rev(2, "failed", two)}, "guestbook:1", ""},
		{"an old revision is pending", []*index.Revision{rev(1, "pending-install", two), rev(2, "deployed", one)},
			"guestbook:2", ""},
		{"interrupted twice", []*index.Revision{rev(1, "deployed", one), rev(2, "pending-upgrade", two),
			rev(3, "pending-rollback", one)}, "guestbook:3", ""},
		{"interrupted twice, never deployed", []*index.Revision{rev(1, "pending-install", two),
			rev(2, "pending-upgrade", one)}, "guestbook:2", ""},
		{"interrupted, then failed", []*index.Revision{rev(1, "deployed", one), rev(2, "pending-upgrade", two),
			rev(3, "failed", two)}, "guestbook:1", ""},
		{"uninstalling", []*index.Revision{rev(1, "uninstalling", one)}, "", ""},
		{"the newest unreadable", []*index.Revision{rev(1, "deployed", one),
			unreadable(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})}, "guestbook:1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, order := range []string{"set", "set in reverse", "replaced"} {
				r := index.New()
				for i := range tc.entries {
					switch order {
					case "set":
						r.Set(tc.entries[i])
					case "set in reverse":
						r.Set(tc.entries[len(tc.entries)-1-i])
					}
				}
				if order == "replaced" {
					r.Replace("", tc.entries)
				}
				if first, second := desiredBy(r, configMapKey("web", "object-0")),
					desiredBy(r, configMapKey("web", "object-1")); first != tc.first || second != tc.second {
					t.Errorf("%s: desired by %q and %q, want %q and %q", order, first, second, tc.first, tc.second)
				}
			}
		})
	}
}

func TestSeveral(t *testing.T) {
	r := index.New()
	for _, bundle := range []string{"beta", "alpha"} {
		r.Set(read(t, record.Record{Bundle: bundle, Objects: record.ConfigMaps("web", 2)}))
	}
	r.Set(read(t, record.Record{Bundle: "plain", Plain: true, Objects: record.ConfigMaps("web", 2)}))
	if got, want := desiredBy(r, configMapKey("web", "object-0")), "alpha:1 beta:1"; got != want {
		t.Errorf("desired by %q, want %q", got, want)
	}
	if owners := r.BySet(ownership.Desired("default-beta", "", "").Hash); len(owners) != 1 ||
		owners[0].Bundle != "beta" {
		t.Errorf("releases with the hash of beta: %v", owners)
	}
	if owners := r.BySet(""); len(owners) > 0 {
		t.Errorf("releases with an empty hash: %v", owners)
	}
	for name, want := range map[string]bool{"web/beta": true, "web/plain": true, "web/gamma": false, "beta": false} {
		if got := r.HasRelease(name); got != want {
			t.Errorf("release %s: %t, want %t", name, got, want)
		}
	}
	if objects, releases, damaged := r.Size(); objects != 4 || releases != 3 || damaged != 0 {
		t.Errorf("size %d objects, %d releases, %d unreadable; want 4, 3, 0", objects, releases, damaged)
	}
	r.Replace("elsewhere", nil)
	r.Delete(release.Name{Namespace: "web", Name: "alpha", Revision: 1})
	if got, want := desiredBy(r, configMapKey("web", "object-0")), "beta:1"; got != want {
		t.Errorf("after one release was removed: desired by %q, want %q", got, want)
	}
	r.Replace("web", nil)
	if objects, releases, _ := r.Size(); objects != 0 || releases != 0 {
		t.Errorf("after all releases were removed: %d objects, %d releases", objects, releases)
	}
}

// complete reports whether an index has all release records of the cluster.
func complete(x interface {
	Unreadable() (namespaces []string, all bool)
}) bool {
	unreadable, all := x.Unreadable()
	return all && len(unreadable) == 0
}

func TestUnreadableNamespaces(t *testing.T) {
	r := index.New()
	name := release.Name{Namespace: "web", Name: "guestbook", Revision: 1}
	for _, step := range []struct {
		name string
		do   func()
		want bool
	}{
		{"empty", func() {}, true},
		{"one unreadable", func() { r.Set(unreadable(name)) }, false},
		{"the same again", func() { r.Set(unreadable(name)) }, false},
		{"repaired", func() { r.Set(inactive(name)) }, true},
		{"unreadable again", func() { r.Replace("", []*index.Revision{unreadable(name)}) }, false},
		{"removed", func() { r.Delete(name) }, true},
	} {
		if step.do(); complete(r) != step.want {
			t.Errorf("%s: complete is %t", step.name, complete(r))
		}
	}
	for _, n := range []release.Name{name, {Namespace: "web", Name: "other", Revision: 1},
		{Namespace: "db", Name: "db", Revision: 1}} {
		r.Set(unreadable(n))
	}
	r.Delete(name)
	if got, _ := r.Unreadable(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"db", "web"}) {
		t.Errorf("namespaces with unreadable records: %v", got)
	}
	if complete(index.New("web")) {
		t.Error("an index of one namespace is complete")
	}
}

// TestBySet checks that all releases with a set are returned, in an order that does not depend on the order of arrival.
func TestBySet(t *testing.T) {
	r := index.New()
	for _, rec := range []record.Record{{Namespace: "web", Revision: 1}, {Namespace: "b-tenant"},
		{Namespace: "a-tenant"},
		{Namespace: "web", Revision: 2, Status: "pending-upgrade"}} {
		rec.Bundle, rec.Objects = "beta", record.ConfigMaps("web", 1)
		r.Set(read(t, rec))
	}
	var got []string
	for _, owner := range r.BySet(ownership.Desired("default-beta", "", "").Hash) {
		got = append(got, owner.String())
	}
	if diff := cmp.Diff([]string{"a-tenant/beta:1", "b-tenant/beta:1", "web/beta:2"}, got); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
}

// TestAnyOrder compares an index after changes in a random order with an index that is filled once with the remaining
// revisions.
func TestAnyOrder(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	statuses := []string{"deployed", "superseded", "failed", "pending-upgrade"}
	live, left := index.New(), map[release.Name]*index.Revision{}
	for range 2000 {
		e := read(t, record.Record{Bundle: fmt.Sprintf("b%d", random.IntN(4)), Revision: 1 + random.IntN(4),
			Status:  statuses[random.IntN(len(statuses))],
			Objects: record.ConfigMaps("web", random.IntN(5))})
		if random.IntN(3) == 0 {
			live.Delete(e.Name)
			delete(left, e.Name)
			continue
		}
		live.Set(e)
		left[e.Name] = e
	}
	fresh := index.New()
	for _, e := range left {
		fresh.Set(e)
	}
	for i := range 5 {
		k := configMapKey("web", fmt.Sprintf("object-%d", i))
		if diff := cmp.Diff(owners(fresh, k), owners(live, k)); diff != "" {
			t.Errorf("%s (-fresh +live):\n%s", k, diff)
		}
	}
	was, _, _ := fresh.Size()
	if is, _, _ := live.Size(); is != was {
		t.Errorf("%d objects, want %d", is, was)
	}
}
