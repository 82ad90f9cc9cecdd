// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/record"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

func read(tb testing.TB, r record.Record) *registry.Entry {
	tb.Helper()
	e, err := registry.Read(r.Value())
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func configMap(namespace, name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// owners says who desires an object, as "bundle:revision".
func owners(r *registry.Registry, k object.Key) string {
	var out []string
	for _, o := range r.Owners(k) {
		out = append(out, fmt.Sprintf("%s:%d", o.Bundle, o.Revision))
	}
	return strings.Join(out, " ")
}

func TestRead(t *testing.T) {
	e := read(t, record.Record{Bundle: "guestbook", ServiceAccount: "deployer", Objects: []object.Ref{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "other", Name: "a"},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "b"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "b"}, // the same once more
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "c"},
	}})
	want := registry.Release{Name: release.Name{Namespace: "web", Name: "guestbook", Revision: 1}, Bundle: "guestbook",
		Agents: []registry.Agent{{Namespace: "cattle-fleet-system", ServiceAccount: "deployer"}}, Objects: 4,
		Want: ownership.Wanted("default-guestbook", "guestbook", "web")}
	if diff := cmp.Diff(want, e.Release); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	r := registry.New()
	r.Put(e)
	for k, want := range map[object.Key]string{
		configMap("other", "a"):                       "guestbook:1",
		configMap("web", "a"):                         "",
		configMap("", "a"):                            "guestbook:1", // as what is in no namespace, whatever the chart states; no ConfigMap is asked for like this
		configMap("web", "b"):                         "guestbook:1",
		configMap("WEB", "b"):                         "",
		{Kind: "Secret", Namespace: "web", Name: "b"}: "",
		{Group: "apps", Kind: "Deployment", Namespace: "web", Name: "d"}:     "guestbook:1",
		{Kind: "Deployment", Namespace: "web", Name: "d"}:                    "",
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "c"}: "guestbook:1",
	} {
		if got := owners(r, k); got != want {
			t.Errorf("%s is desired by %q, want %q", k, got, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, value := range map[string]string{"nothing": "", "no base64": "§", "cut short": string(record.Record{Bundle: "a"}.Value()[:40]),
		"a bundle that is no name":   string(record.Record{Bundle: strings.Repeat("a", 300)}.Value()),
		"an agent that is nowhere":   string(record.Record{Bundle: "a", AgentNamespace: "no name"}.Value()),
		"an account that is no name": string(record.Record{Bundle: "a", ServiceAccount: "a:b"}.Value()),
		"too many objects":           string(record.Record{Bundle: "a", Objects: record.ConfigMaps("web", 20_001)}.Value()),
	} {
		if e, err := registry.Read([]byte(value)); err == nil {
			t.Errorf("%s: no error, but %+v", name, e)
		}
	}
}

// TestRevisions goes through the lives of a release: which of its revisions says what is desired.
func TestRevisions(t *testing.T) {
	one, two := record.ConfigMaps("web", 1), record.ConfigMaps("web", 2)
	rev := func(revision int, status string, objects []object.Ref) *registry.Entry {
		return read(t, record.Record{Bundle: "guestbook", Revision: revision, Status: status, Objects: objects})
	}
	for _, tc := range []struct {
		name          string
		entries       []*registry.Entry
		first, second string // who desires object-0 and object-1
	}{
		{"none", nil, "", ""},
		{"installing", []*registry.Entry{rev(1, "pending-install", one)}, "guestbook:1", ""},
		{"installed", []*registry.Entry{rev(1, "deployed", one)}, "guestbook:1", ""},
		{"failed at first", []*registry.Entry{rev(1, "failed", one)}, "", ""},
		{"upgrading to more", []*registry.Entry{rev(1, "deployed", one), rev(2, "pending-upgrade", two)}, "guestbook:2", "guestbook:2"},
		{"upgrading to less", []*registry.Entry{rev(1, "deployed", two), rev(2, "pending-upgrade", one)}, "guestbook:2", "guestbook:1"},
		{"upgraded", []*registry.Entry{rev(2, "deployed", two), rev(1, "superseded", one)}, "guestbook:2", "guestbook:2"},
		{"upgraded to less", []*registry.Entry{rev(1, "superseded", two), rev(2, "deployed", one)}, "guestbook:2", ""},
		{"both deployed for a moment", []*registry.Entry{rev(1, "deployed", two), rev(2, "deployed", one)}, "guestbook:2", ""},
		{"upgrade failed", []*registry.Entry{rev(1, "deployed", one), rev(2, "failed", two)}, "guestbook:1", ""},
		{"an old one left pending", []*registry.Entry{rev(1, "pending-install", two), rev(2, "deployed", one)}, "guestbook:2", ""},
		{"interrupted twice", []*registry.Entry{rev(1, "deployed", one), rev(2, "pending-upgrade", two), rev(3, "pending-rollback", one)}, "guestbook:3", ""},
		{"interrupted twice at first", []*registry.Entry{rev(1, "pending-install", two), rev(2, "pending-upgrade", one)}, "guestbook:2", ""},
		{"interrupted, then failed", []*registry.Entry{rev(1, "deployed", one), rev(2, "pending-upgrade", two), rev(3, "failed", two)}, "guestbook:1", ""},
		{"uninstalling", []*registry.Entry{rev(1, "uninstalling", one)}, "", ""},
		{"the newest damaged", []*registry.Entry{rev(1, "deployed", one), registry.Damaged(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})}, "guestbook:1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, order := range []string{"put", "put backwards", "replaced"} {
				r := registry.New()
				for i := range tc.entries {
					switch order {
					case "put":
						r.Put(tc.entries[i])
					case "put backwards":
						r.Put(tc.entries[len(tc.entries)-1-i])
					}
				}
				if order == "replaced" {
					r.Replace("", tc.entries)
				}
				if first, second := owners(r, configMap("web", "object-0")), owners(r, configMap("web", "object-1")); first != tc.first || second != tc.second {
					t.Errorf("%s: desired by %q and %q, want %q and %q", order, first, second, tc.first, tc.second)
				}
			}
		})
	}
}

func TestSeveral(t *testing.T) {
	r := registry.New()
	for _, bundle := range []string{"beta", "alpha"} {
		r.Put(read(t, record.Record{Bundle: bundle, Objects: record.ConfigMaps("web", 2)}))
	}
	r.Put(read(t, record.Record{Bundle: "plain", Plain: true, Objects: record.ConfigMaps("web", 2)}))
	if got, want := owners(r, configMap("web", "object-0")), "alpha:1 beta:1"; got != want {
		t.Errorf("desired by %q, want %q", got, want)
	}
	if holders := r.Holders(ownership.Wanted("default-beta", "", "").Hash); len(holders) != 1 || holders[0].Bundle != "beta" {
		t.Errorf("beta's hash is held by %v", holders)
	}
	if holders := r.Holders(""); len(holders) > 0 {
		t.Errorf("the empty hash is held by %v", holders)
	}
	for name, want := range map[string]bool{"web/beta": true, "web/plain": true, "web/gamma": false, "beta": false} {
		if got := r.Release(name); got != want {
			t.Errorf("release %s: %t, want %t", name, got, want)
		}
	}
	if objects, releases, damaged := r.Size(); objects != 4 || releases != 3 || damaged != 0 {
		t.Errorf("size %d objects, %d releases, %d damaged; want 4, 3, 0", objects, releases, damaged)
	}
	r.Replace("elsewhere", nil)
	r.Delete(release.Name{Namespace: "web", Name: "alpha", Revision: 1})
	if got, want := owners(r, configMap("web", "object-0")), "beta:1"; got != want {
		t.Errorf("after one is gone: desired by %q, want %q", got, want)
	}
	r.Replace("web", nil)
	if objects, releases, _ := r.Size(); objects != 0 || releases != 0 {
		t.Errorf("after all are gone: %d objects, %d releases", objects, releases)
	}
}

func TestComplete(t *testing.T) {
	r := registry.New()
	name := release.Name{Namespace: "web", Name: "guestbook", Revision: 1}
	for _, step := range []struct {
		name string
		do   func()
		want bool
	}{
		{"empty", func() {}, true},
		{"one damaged", func() { r.Put(registry.Damaged(name)) }, false},
		{"the same again", func() { r.Put(registry.Damaged(name)) }, false},
		{"mended", func() { r.Put(registry.Known(name)) }, true},
		{"damaged again", func() { r.Replace("", []*registry.Entry{registry.Damaged(name)}) }, false},
		{"gone", func() { r.Delete(name) }, true},
	} {
		if step.do(); r.Complete() != step.want {
			t.Errorf("%s: complete is %t", step.name, r.Complete())
		}
	}
	if registry.New("web").Complete() {
		t.Error("a registry of one namespace calls itself complete")
	}
}

// TestHolders holds that all releases whose records state one set are told, in an order that does not depend on which came first.
func TestHolders(t *testing.T) {
	r := registry.New()
	for _, rec := range []record.Record{{Namespace: "web", Revision: 1}, {Namespace: "b-tenant"}, {Namespace: "a-tenant"},
		{Namespace: "web", Revision: 2, Status: "pending-upgrade"}} {
		rec.Bundle, rec.Objects = "beta", record.ConfigMaps("web", 1)
		r.Put(read(t, rec))
	}
	var got []string
	for _, h := range r.Holders(ownership.Wanted("default-beta", "", "").Hash) {
		got = append(got, h.String())
	}
	if diff := cmp.Diff([]string{"a-tenant/beta:1", "b-tenant/beta:1", "web/beta:2"}, got); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// TestAnyOrder holds a registry that went through changes in any order against one that was filled once with what is left.
func TestAnyOrder(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	statuses := []string{"deployed", "superseded", "failed", "pending-upgrade"}
	live, left := registry.New(), map[release.Name]*registry.Entry{}
	for range 2000 {
		e := read(t, record.Record{Bundle: fmt.Sprintf("b%d", random.IntN(4)), Revision: 1 + random.IntN(4), Status: statuses[random.IntN(len(statuses))],
			Objects: record.ConfigMaps("web", random.IntN(5))})
		if random.IntN(3) == 0 {
			live.Delete(e.Name)
			delete(left, e.Name)
			continue
		}
		live.Put(e)
		left[e.Name] = e
	}
	fresh := registry.New()
	for _, e := range left {
		fresh.Put(e)
	}
	for i := range 5 {
		k := configMap("web", fmt.Sprintf("object-%d", i))
		if diff := cmp.Diff(fresh.Owners(k), live.Owners(k)); diff != "" {
			t.Errorf("%s (-fresh +live):\n%s", k, diff)
		}
	}
	was, _, _ := fresh.Size()
	if is, _, _ := live.Size(); is != was {
		t.Errorf("%d objects, of which %d are left", is, was)
	}
}
