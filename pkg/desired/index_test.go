// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func configMap(i int) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprint("object-", i)}
}

// revision is one of release "namespace/guestbook" that desires n ConfigMaps, with their manifests as payload.
func revision(namespace string, number int, status desired.Status, n int) *desired.Revision[string] {
	r := desired.Release{Name: release.Name{Namespace: namespace, Name: "guestbook", Revision: number}, Status: status, Bundle: "guestbook",
		Agents: []desired.Agent{{Namespace: fmt.Sprint("agents-", number)}}, Metadata: ownership.Desired("default-guestbook", "guestbook", namespace), Objects: n}
	var objects []desired.Object[string]
	for i := range n {
		objects = append(objects, desired.Object[string]{Key: configMap(i), Desired: fmt.Sprintf("%s:%d manifest %d", namespace, number, i)})
	}
	return desired.NewRevision(r, objects)
}

// lookup returns what desires an object, as payloads with the namespaces of the agents.
func lookup(x *desired.Index[string], k object.Key) []string {
	var out []string
	for r, manifest := range x.Lookup(k) {
		for _, a := range r.Agents {
			manifest += " " + a.Namespace
		}
		out = append(out, manifest)
	}
	return out
}

// TestLookup follows two releases that desire the same objects.
func TestLookup(t *testing.T) {
	x := desired.New[string]()
	for _, step := range []struct {
		name          string
		do            func()
		first, second []string
	}{
		{"empty", func() {}, nil, nil},
		{"deployed", func() { x.Set(revision("web", 1, desired.Deployed, 2)) }, []string{"web:1 manifest 0 agents-1"}, []string{"web:1 manifest 1 agents-1"}},
		{"upgrading", func() { x.Set(revision("web", 2, desired.Pending, 1)) },
			[]string{"web:2 manifest 0 agents-2 agents-1", "web:1 manifest 0 agents-1 agents-2"}, []string{"web:1 manifest 1 agents-1 agents-2"}},
		{"of two releases", func() { x.Set(revision("db", 1, desired.Uninstalling, 1)) },
			[]string{"db:1 manifest 0 agents-1", "web:2 manifest 0 agents-2 agents-1", "web:1 manifest 0 agents-1 agents-2"}, []string{"web:1 manifest 1 agents-1 agents-2"}},
		{"upgraded", func() { x.Set(revision("web", 2, desired.Deployed, 1)); x.Set(revision("web", 1, desired.Inactive, 2)) },
			[]string{"db:1 manifest 0 agents-1", "web:2 manifest 0 agents-2"}, nil},
		{"unreadable", func() { x.Set(revision("web", 2, desired.Unreadable, 1)) }, []string{"db:1 manifest 0 agents-1"}, nil},
		{"deleted", func() {
			x.SetRelease("db/guestbook", nil)
			x.Delete(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})
		}, nil, nil},
	} {
		step.do()
		if diff := cmp.Diff(step.first, lookup(x, configMap(0))); diff != "" {
			t.Errorf("%s: the first object (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.second, lookup(x, configMap(1))); diff != "" {
			t.Errorf("%s: the second object (-want +got):\n%s", step.name, diff)
		}
	}
	if objects, releases, unreadable := x.Size(); objects != 0 || releases != 1 || unreadable != 0 || !x.HasRelease("web/guestbook") || x.HasRelease("db/guestbook") {
		t.Errorf("%d objects of %d releases, %d unreadable, are left", objects, releases, unreadable)
	}
}

// TestDuplicates has a revision state an object twice: the last one counts.
func TestDuplicates(t *testing.T) {
	x := desired.New[string]()
	x.Set(desired.NewRevision(desired.Release{Name: release.Name{Namespace: "web", Name: "a", Revision: 1}, Status: desired.Deployed},
		[]desired.Object[string]{{Key: configMap(0), Desired: "first"}, {Key: configMap(1), Desired: "other"}, {Key: configMap(0), Desired: "last"}}))
	if got := lookup(x, configMap(0)); !slices.Equal(got, []string{"last"}) {
		t.Errorf("desired as %v", got)
	}
}

// TestBySet returns one revision of each release that states a set, in an order that does not depend on the changes.
func TestBySet(t *testing.T) {
	x := desired.New[string]()
	for _, r := range []*desired.Revision[string]{revision("web", 1, desired.Deployed, 1), revision("db", 1, desired.Deployed, 0),
		revision("web", 2, desired.Pending, 1), revision("cache", 1, desired.Inactive, 1)} {
		x.Set(r)
	}
	var got []string
	for _, r := range x.BySet(ownership.Desired("default-guestbook", "", "").Hash) {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"db/guestbook:1", "web/guestbook:2"}, got); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	if got := x.BySet(""); got != nil {
		t.Errorf("the empty hash is stated by %v", got)
	}
}

// TestAnyOrder compares an index after random changes with one that is filled once with what is left.
func TestAnyOrder(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	statuses := []desired.Status{desired.Inactive, desired.Unreadable, desired.Deployed, desired.Pending, desired.Uninstalling}
	changed, left := desired.New[string](), map[release.Name]*desired.Revision[string]{}
	for range 2000 {
		r := revision(fmt.Sprint("n", random.IntN(4)), 1+random.IntN(4), statuses[random.IntN(len(statuses))], random.IntN(5))
		if random.IntN(3) == 0 {
			changed.Delete(r.Name)
			delete(left, r.Name)
			continue
		}
		changed.Set(r)
		left[r.Name] = r
	}
	fresh := desired.New[string]()
	for _, r := range left {
		fresh.Set(r)
	}
	for i := range 5 {
		if diff := cmp.Diff(lookup(fresh, configMap(i)), lookup(changed, configMap(i))); diff != "" {
			t.Errorf("object %d (-fresh +changed):\n%s", i, diff)
		}
	}
	hash := ownership.Desired("default-guestbook", "", "").Hash
	if diff := cmp.Diff(fresh.BySet(hash), changed.BySet(hash)); diff != "" {
		t.Errorf("releases of the set (-fresh +changed):\n%s", diff)
	}
	size := func(x *desired.Index[string]) string { return fmt.Sprint(x.Size()) }
	if size(fresh) != size(changed) {
		t.Errorf("size %s, want %s", size(changed), size(fresh))
	}
}
