// SPDX-License-Identifier: Apache-2.0

package desired_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

func configMap(i int) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprint("object-", i)}
}

// revision is one of release "namespace/guestbook" that desires n ConfigMaps.
func revision(namespace string, number int, status desired.Status, n int) *desired.Revision {
	r := desired.Release{Name: release.Name{Namespace: namespace, Name: "guestbook", Revision: number}, Status: status,
		Bundle:   "guestbook",
		Agents:   []desired.Agent{{Namespace: fmt.Sprint("agents-", number)}},
		Metadata: ownership.Desired("default-guestbook", "guestbook", namespace), Objects: n}
	var keys []object.Key
	for i := range n {
		keys = append(keys, configMap(i))
	}
	return desired.NewRevision(r, keys)
}

// lookup returns the revisions that desire an object, with the namespaces of the agents.
func lookup(x *desired.Index, k object.Key) []string {
	var out []string
	for _, r := range x.Lookup(k) {
		text := fmt.Sprintf("%s:%d", r.Namespace, r.Revision)
		for _, a := range r.Agents {
			text += " " + a.Namespace
		}
		out = append(out, text)
	}
	return out
}

// TestLookup follows two releases that desire the same objects.
func TestLookup(t *testing.T) {
	x := desired.New()
	for _, step := range []struct {
		name          string
		do            func()
		first, second []string
	}{
		{"empty", func() {}, nil, nil},
		{"deployed", func() { x.Set(revision("web", 1, desired.Deployed, 2)) }, []string{"web:1 agents-1"},
			[]string{"web:1 agents-1"}},
		{"upgrading", func() { x.Set(revision("web", 2, desired.Pending, 1)) },
			[]string{"web:2 agents-2 agents-1", "web:1 agents-1 agents-2"}, []string{"web:1 agents-1 agents-2"}},
		{"of two releases", func() { x.Set(revision("db", 1, desired.Uninstalling, 1)) },
			[]string{"db:1 agents-1", "web:2 agents-2 agents-1", "web:1 agents-1 agents-2"},
			[]string{"web:1 agents-1 agents-2"}},
		{"upgraded", func() {
			x.Set(revision("web", 2, desired.Deployed, 1))
			x.Set(revision("web", 1, desired.Inactive, 2))
		},
			[]string{"db:1 agents-1", "web:2 agents-2"}, nil},
		{"unreadable", func() { x.Set(revision("web", 2, desired.Unreadable, 1)) }, []string{"db:1 agents-1"}, nil},
		{"deleted", func() {
			x.SetRelease("db/guestbook", nil)
			x.Delete(release.Name{Namespace: "web", Name: "guestbook", Revision: 2})
		}, nil, nil},
	} {
		step.do()
		if diff := gocmp.Diff(step.first, lookup(x, configMap(0))); diff != "" {
			t.Errorf("%s: the first object (-want +got):\n%s", step.name, diff)
		}
		if diff := gocmp.Diff(step.second, lookup(x, configMap(1))); diff != "" {
			t.Errorf("%s: the second object (-want +got):\n%s", step.name, diff)
		}
	}
	if left := fmt.Sprint(x.Size()); left != "0 1 0" {
		t.Errorf("objects, releases and unreadable records that are left: %s", left)
	}
	if !x.HasRelease("web/guestbook") || x.HasRelease("db/guestbook") {
		t.Error("release web/guestbook is not the one that is left")
	}
}

// TestDuplicates has a revision state an object twice: it is one claim.
func TestDuplicates(t *testing.T) {
	x := desired.New()
	x.Set(desired.NewRevision(desired.Release{Name: release.Name{Namespace: "web", Name: "a", Revision: 1},
		Status: desired.Deployed},
		[]object.Key{configMap(0), configMap(1), configMap(0)}))
	if got := lookup(x, configMap(0)); !slices.Equal(got, []string{"web:1"}) {
		t.Errorf("desired by %v", got)
	}
}

// claimant desires objects of two clusters, and has the set of a hash on the first one.
type claimant struct {
	name, hash string
	objects    *[]object.ID
}

func (c claimant) Desires(yield func(desired.Key, string) bool) {
	for _, o := range *c.objects {
		if !yield(desired.KeyOf(o), c.name) {
			return
		}
	}
}

func (c claimant) OwnSet() desired.Set { return desired.Set{Hash: c.hash} }

// TestClaims adds claims in several orders. Of equal claims, the first one that was added stays first.
func TestClaims(t *testing.T) {
	first, elsewhere := object.ID{Key: configMap(0)}, object.ID{Cluster: "other", Key: configMap(0)}
	workload := object.ID{Key: object.Key{Group: "apps", Kind: "Deployment", Namespace: "web", Name: "web"}}
	of := func(name, hash string, objects ...object.ID) claimant { return claimant{name, hash, &objects} }
	a1, a2, b1 := of("a1", "hash", first, workload), of("a2", "hash", first), of("b1", "hash", first)
	for _, order := range [][]claimant{{a1, a2, b1}, {b1, a1, a2}, {a1, b1, a2}} {
		x := desired.NewClaims(func(a, b string) int { return cmp.Compare(a[0], b[0]) },
			func(a, b claimant) int { return cmp.Compare(a.name[0], b.name[0]) })
		for _, c := range order {
			x.Replace(nil, []claimant{c})
		}
		unset := of("c1", "", elsewhere)
		x.Replace(nil, []claimant{unset})
		if got := x.Of(first); !slices.Equal(got, []string{"a1", "a2", "b1"}) {
			t.Errorf("added as %v: the object is desired by %v", order, got)
		}
		if got := x.BySet(desired.Set{Hash: "hash"}); !slices.Equal(got, []claimant{a1, a2, b1}) {
			t.Errorf("added as %v: %v have the set", order, got)
		}
		if got := x.BySet(desired.Set{}); got != nil {
			t.Errorf("added as %v: %v have the empty hash", order, got)
		}
		if got := x.Of(object.ID{Key: configMap(1)}); got != nil {
			t.Errorf("added as %v: %v desire another object", order, got)
		}
		if diff := gocmp.Diff(map[schema.GroupKind]bool{{Kind: "ConfigMap"}: true,
			{Group: "apps", Kind: "Deployment"}: true}, x.Kinds("")); diff != "" {
			t.Errorf("kinds (-want +got):\n%s", diff)
		}
		other := of("d1", "hash", elsewhere)
		changed := slices.Collect(x.Replace([]claimant{a1, unset}, []claimant{other}))
		slices.SortFunc(changed, func(a, b object.ID) int {
			return cmp.Or(a.Compare(b.Key), cmp.Compare(a.Cluster, b.Cluster))
		})
		if want := []object.ID{first, elsewhere, workload}; !slices.Equal(changed, want) {
			t.Errorf("added as %v: changed %v, want %v", order, changed, want)
		}
		if got := x.Of(first); !slices.Equal(got, []string{"a2", "b1"}) {
			t.Errorf("added as %v: after the replacement, the object is desired by %v", order, got)
		}
		if got := x.Of(elsewhere); !slices.Equal(got, []string{"d1"}) {
			t.Errorf("added as %v: on the other cluster, the object is desired by %v", order, got)
		}
		if got := x.BySet(desired.Set{Hash: "hash"}); !slices.Equal(got, []claimant{a2, b1, other}) {
			t.Errorf("added as %v: after the replacement, %v have the set", order, got)
		}
	}
}

// TestBySet returns one revision of each release that states a set, in an order that does not depend on the changes.
func TestBySet(t *testing.T) {
	x := desired.New()
	for _, r := range []*desired.Revision{revision("web", 1, desired.Deployed, 1),
		revision("db", 1, desired.Deployed, 0),
		revision("web", 2, desired.Pending, 1), revision("cache", 1, desired.Inactive, 1)} {
		x.Set(r)
	}
	var got []string
	for _, r := range x.BySet(ownership.Desired("default-guestbook", "", "").Hash) {
		got = append(got, r.String())
	}
	if diff := gocmp.Diff([]string{"db/guestbook:1", "web/guestbook:2"}, got); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	if got := x.BySet(""); got != nil {
		t.Errorf("the empty hash is stated by %v", got)
	}
}

// TestRebuilt makes random changes. After each one, the index is like one that is filled once with what is left.
// Objects that are not returned as changed are desired as before, and those that are returned are the release's.
func TestRebuilt(t *testing.T) {
	const seed, objects = 1, 6
	random := rand.New(rand.NewPCG(seed, seed))
	statuses := []desired.Status{desired.Inactive, desired.Unreadable, desired.Deployed, desired.Pending,
		desired.Uninstalling}
	hash := ownership.Desired("default-guestbook", "guestbook", "").Hash
	x, left, reported := desired.New(), map[release.Name]*desired.Revision{}, 0
	before := make([][]desired.Release, objects)
	for range 2000 {
		r := revision(fmt.Sprint("n", random.IntN(4)), 1+random.IntN(4), statuses[random.IntN(len(statuses))],
			random.IntN(objects))
		var changed []object.ID
		switch random.IntN(4) {
		case 0:
			changed = slices.Collect(x.Delete(r.Name))
			delete(left, r.Name)
		case 1: // nothing else is known of the release
			maps.DeleteFunc(left, func(n release.Name, _ *desired.Revision) bool {
				return n.Release() == r.Name.Release()
			})
			left[r.Name] = r
			changed = slices.Collect(x.SetRelease(r.Name.Release(), []*desired.Revision{r}))
		default:
			left[r.Name] = r
			changed = slices.Collect(x.Set(r))
		}
		reported += len(changed)
		fresh := desired.New()
		for _, r := range left {
			fresh.Set(r)
		}
		ofRelease := func(d desired.Release) bool { return d.Release() == r.Name.Release() }
		for i, was := range before {
			is := fresh.Lookup(configMap(i))
			if diff := gocmp.Diff(is, x.Lookup(configMap(i))); diff != "" {
				t.Fatalf("object %d (-rebuilt +changed):\n%s", i, diff)
			}
			returned := slices.Contains(changed, object.ID{Key: configMap(i)})
			if !returned && !gocmp.Equal(was, is) {
				t.Fatalf("object %d changed, and is not returned after the change of %s", i, r.Name)
			}
			if returned && !slices.ContainsFunc(was, ofRelease) && !slices.ContainsFunc(is, ofRelease) {
				t.Fatalf("object %d is returned, and release %s has never desired it", i, r.Name)
			}
			before[i] = is
		}
		slices.SortFunc(changed, func(a, b object.ID) int { return a.Compare(b.Key) })
		if len(slices.Compact(slices.Clone(changed))) != len(changed) {
			t.Fatalf("returned twice: %v", changed)
		}
		if diff := gocmp.Diff(fresh.BySet(hash), x.BySet(hash)); diff != "" {
			t.Fatalf("releases of the set (-rebuilt +changed):\n%s", diff)
		}
		if want, got := fmt.Sprint(fresh.Size()), fmt.Sprint(x.Size()); want != got {
			t.Fatalf("size %s, want %s", got, want)
		}
		if again := slices.Collect(x.SetRelease("none/none", nil)); len(again) > 0 {
			t.Fatalf("an unknown release changed %v", again)
		}
	}
	if reported < 1000 {
		t.Errorf("only %d objects were returned as changed", reported)
	}
}
