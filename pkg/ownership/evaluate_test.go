// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// cluster has bundles and releases. All its records were read unless unread is set.
type cluster struct {
	bundles  []Bundle
	releases []string // without a bundle
	unread   bool
}

func (c cluster) BundlesOf(hash string) []Bundle {
	var out []Bundle
	for _, b := range c.bundles {
		if b.Desired.Hash == hash {
			out = append(out, b)
		}
	}
	return out
}

func (c cluster) Release(name string, bundle Bundle) Existence {
	for _, b := range c.bundles {
		if b.Release == name {
			if b.same(bundle) {
				return Own
			}
			return Exists
		}
	}
	for _, r := range c.releases {
		if r == name {
			return Exists
		}
	}
	if c.unread {
		return NotDecided
	}
	return Absent
}

func (c cluster) SetsKnown(object.Key) bool { return !c.unread }

func bundle(name, namespace string) Bundle {
	return Bundle{Deployment: "cluster-one/" + name, Bundle: "fleet-local/" + name, Release: namespace + "/" + name,
		Desired: Desired("default-"+name, name, namespace)}
}

// TestEvaluate finds the owners of an object for the bundle guestbook, and applies both policies.
func TestEvaluate(t *testing.T) {
	guestbook, shop, twin := bundle("guestbook", "web"), bundle("shop", "web"), bundle("shop", "other")
	twin.Deployment = "cluster-two/shop"
	earlier := guestbook
	earlier.Desired = Desired("default-guestbook-scope", "guestbook", "web")
	gone := Desired("default-gone", "gone", "web")
	helm := func(m Metadata, name string) Metadata {
		m.ReleaseName, m.ReleaseNamespace = name, "web"
		return m
	}
	one := cluster{bundles: []Bundle{guestbook, shop}, releases: []string{"web/chart"}}
	for name, tc := range map[string]struct {
		facts  cluster
		claim  Claim
		owners string // the situation and name of each
		// decided is the situation with the policy if-unowned, and "!" if it refuses.
		decided string
	}{
		"no metadata": {one, Claim{}, "", "NoMark"},
		"owned":       {one, Claim{Have: guestbook.Desired}, "", "NoMark"},
		"Helm annotations of this release": {one, Claim{Have: helm(Metadata{}, "guestbook")}, "",
			"OwnRelease"},
		"the id without the hash": {one, Claim{Have: Metadata{SetID: "default-guestbook"}}, "",
			"OwnID"},
		"a bundle": {one, Claim{Have: shop.Desired}, "KnownHash cluster-one/shop",
			"KnownHash!"},
		"a bundle's id": {one, Claim{Have: Metadata{SetID: "default-shop"}},
			"KnownID cluster-one/shop", "KnownID!"},
		"a bundle's id, another hash": {one, Claim{Have: Metadata{SetID: "default-shop", Hash: "x"}},
			"KnownID cluster-one/shop", "KnownID!"},
		"a bundle, and a release": {one, Claim{Have: helm(shop.Desired, "chart")},
			"KnownHash cluster-one/shop, LivingRelease web/chart", "KnownHash!"},
		"an unknown set": {one, Claim{Have: gone}, "UnknownHash default-gone",
			"UnknownHash"},
		"an unknown set, and a release": {one, Claim{Have: helm(gone, "chart")},
			"UnknownHash default-gone, LivingRelease web/chart", "LivingRelease!"},
		"an unknown hash": {one, Claim{Have: Metadata{Hash: "x"}}, "UnknownHash x",
			"UnknownHash"},
		"a release that does not exist": {one, Claim{Have: helm(Metadata{}, "gone")},
			"LostRelease web/gone", "LostRelease"},
		"a release": {one, Claim{Have: helm(Metadata{}, "chart")},
			"LivingRelease web/chart", "LivingRelease!"},
		"an unknown set, records unread": {cluster{unread: true}, Claim{Have: gone},
			"Undecided default-gone, Undecided web/gone", "Undecided!"},
		"another program": {one,
			Claim{Have: Metadata{SetID: "monitoring", Hash: fleet.Hash("monitoring")}}, "SystemSet monitoring",
			"SystemSet!"},
		"a set with an owner": {one,
			Claim{Have: Metadata{SetID: gone.SetID, Hash: gone.Hash, SetHasOwner: true}}, "SystemSet default-gone",
			"SystemSet!"},
		"a shared set": {cluster{bundles: []Bundle{shop, twin}},
			Claim{Have: Metadata{Hash: shop.Desired.Hash}}, "KnownHash " + shop.Desired.Hash, "KnownHash!"},
		"a shared id, another hash": {cluster{bundles: []Bundle{shop, twin}},
			Claim{Have: Metadata{SetID: "default-shop", Hash: "x"}}, "KnownID default-shop", "KnownID!"},
		"a shared set, and Helm annotations of one": {cluster{bundles: []Bundle{shop, twin}}, Claim{Have: twin.Desired},
			"KnownHash cluster-two/shop", "KnownHash!"},
		"another bundle desires it": {one, Claim{DesiredBy: []Bundle{shop}},
			"Contested cluster-one/shop", "Contested!"},
		"another bundle desires and owns it": {one, Claim{Have: shop.Desired, DesiredBy: []Bundle{shop}},
			"KnownHash cluster-one/shop", "KnownHash!"},
		"a release that the update removes": {one, Claim{Before: helm(Metadata{}, "chart")},
			"LivingRelease web/chart", "LivingRelease!"},
		"the set of an earlier revision": {cluster{bundles: []Bundle{earlier},
			releases: []string{"web/chart"}}, Claim{Have: earlier.Desired}, "", "NoMark"},
		"the set of an earlier revision, and a release": {cluster{bundles: []Bundle{earlier},
			releases: []string{"web/chart"}},
			Claim{Have: helm(earlier.Desired, "chart")}, "LivingRelease web/chart", "LivingRelease!"},
		"only the set": {one, Claim{Have: Metadata{Hash: guestbook.Desired.Hash}, BySet: true}, "",
			"NoMark"},
		"only the set, records unread": {cluster{unread: true}, Claim{Have: Metadata{Hash: guestbook.Desired.Hash},
			BySet: true}, "Undecided ", "Undecided!"},
		"another release with this name": {cluster{releases: []string{"web/guestbook"}},
			Claim{Have: helm(Metadata{}, "guestbook")}, "LivingRelease web/guestbook", "LivingRelease!"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.claim.Bundle, tc.claim.Object = guestbook, object.Key{Kind: "ConfigMap", Namespace: "web", Name: "theme"}
			r := Evaluate(tc.facts, tc.claim)
			var owners []string
			for _, o := range r.Owners {
				owners = append(owners, string(o.Situation)+" "+o.Name())
			}
			if diff := cmp.Diff(tc.owners, strings.Join(owners, ", ")); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			situation, err := r.Decide(IfUnowned, nil)
			decided := string(situation)
			if err != nil {
				decided += "!"
			}
			if decided != tc.decided {
				t.Errorf("decided %s, want %s", decided, tc.decided)
			}
			var refusal *RefusalError
			if err != nil && (!errors.As(err, &refusal) || len(refusal.Conflicts) == 0 ||
				refusal.Object.Name != "theme" || !strings.Contains(err.Error(), "web/theme")) {
				t.Errorf("error %v", err)
			}
			// What OnlyFrom names can be taken. A set of Fleet, and an owner that is not known, are not named.
			from, existing := r.OnlyFrom(), []string{"LivingRelease!", "KnownID!", "KnownHash!"}
			exists := slices.Contains(existing, decided)
			if from != "" && !exists || from == "" && exists && len(r.Owners) == 1 {
				t.Errorf("only from %q", from)
			}
			if _, err := r.Decide(IfUnowned, []string{from}); from != "" && err != nil {
				t.Errorf("taken from %s: %v", from, err)
			}
			// An owner in takeFrom is not a conflict.
			var names []string
			for _, o := range r.Owners {
				names = append(names, o.Name())
			}
			if _, err := r.Decide(TakeUnmarked, names); err != nil && tc.owners != "Undecided " {
				t.Errorf("with all owners named: %v", err)
			}
		})
	}
}

// TestRefusal checks that a refusal has all protected owners, the policies that do not protect them, and the required
// patch.
func TestRefusal(t *testing.T) {
	guestbook, shop := bundle("guestbook", "web"), bundle("shop", "web")
	claim := Claim{Bundle: guestbook, Have: Desired("default-gone", "gone", "web"), DesiredBy: []Bundle{shop}}
	_, err := Evaluate(cluster{bundles: []Bundle{guestbook, shop}}, claim).Decide(TakeUnmarked, nil)
	var refusal *RefusalError
	if !errors.As(err, &refusal) || len(refusal.Conflicts) != 2 || refusal.Conflicts[0].AllowedBy != IfUnowned ||
		refusal.Conflicts[1].AllowedBy != "" ||
		len(refusal.Patch()) != 3 {
		t.Errorf("%+v", err)
	}
}

// TestLost compares the metadata before and after an update with the values of an owner.
func TestLost(t *testing.T) {
	guestbook := bundle("guestbook", "web")
	with := func(change func(*Metadata)) Metadata {
		m := guestbook.Desired
		change(&m)
		return m
	}
	for name, tc := range map[string]struct {
		before, after Metadata
		lost          int
	}{
		"all removed": {guestbook.Desired, Metadata{}, 5},
		"one removed": {guestbook.Desired, with(func(m *Metadata) { m.Hash = "" }), 1},
		"one changed": {guestbook.Desired, with(func(m *Metadata) { m.SetID = "x" }), 1},
		"no change":   {guestbook.Desired, guestbook.Desired, 0},
		"another value changed": {with(func(m *Metadata) { m.SetID = "x" }), with(func(m *Metadata) {
			m.SetID = "y"
		}), 0},
		"another value corrected":     {with(func(m *Metadata) { m.SetID = "x" }), guestbook.Desired, 0},
		"a value added":               {Metadata{}, guestbook.Desired, 0},
		"another and an owned value":  {with(func(m *Metadata) { m.SetID = "x" }), Metadata{}, 4},
		"no metadata before or after": {Metadata{}, Metadata{}, 0},
	} {
		if got := (Owner{Bundles: []Bundle{guestbook}}).Lost(tc.before, tc.after); len(got) != tc.lost {
			t.Errorf("%s: got %+v, want %d changes", name, got, tc.lost)
		}
	}
}
