// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Existence is what is known about a Helm release.
type Existence int

// The values of Existence.
const (
	Absent     Existence = iota // every release record was read, and none is of the release
	Exists                      // it exists, and is not the bundle's
	Own                         // it is the bundle's, or nothing shows that another owner uses its name
	NotDecided                  // not every release record could be read, or that of the release is damaged
)

// Facts are what is known about a cluster.
type Facts interface {
	// BundlesOf returns the bundles whose releases have the set with a hash.
	BundlesOf(hash string) []Bundle
	// Release returns what is known about the Helm release "namespace/name", for a bundle that may have it.
	Release(name string, bundle Bundle) Existence
	// SetsRead says whether every release record that could have a set was read.
	SetsRead() bool
}

// Claim is an object and a bundle that may own it.
type Claim struct {
	Object object.Key
	Have   Metadata
	// Bundle may be the zero value: then Evaluate finds all owners.
	Bundle Bundle
	// DesiredBy are the other bundles that desire the object.
	DesiredBy []Bundle
	// Before is the metadata that the object loses with an update. The Helm release in it may be an owner too.
	Before Metadata
	// BySet says that the object's set alone shows that it is the bundle's, which a record that was not read may have as well.
	BySet bool
}

// Result is the answer to a Claim.
type Result struct {
	Claim
	Class Class
	// Owners are the owners other than the bundle, in the order of the metadata, and then the other bundles that desire the object.
	Owners []Owner
}

// Patch lists the changes that give the object the ownership metadata that the bundle desires.
func (r Result) Patch() []Change { return Changes(r.Have, r.Bundle.Desired) }

// Evaluate finds the owners of an object.
func Evaluate(f Facts, c Claim) Result {
	r := Result{Claim: c}
	r.Class, _ = Classify(c.Have, c.Bundle.Desired)
	if o, ok := setOwner(f, c); ok {
		r.Owners = append(r.Owners, o)
	}
	for _, release := range []string{c.Have.Release(), c.Before.Release()} {
		r.addRelease(f, release)
	}
	if len(r.Owners) == 0 && c.BySet && !f.SetsRead() {
		r.Owners = append(r.Owners, Owner{Situation: Undecided})
	}
	for _, b := range c.DesiredBy {
		if !slices.ContainsFunc(r.Owners, func(o Owner) bool { return len(o.Bundles) == 1 && o.Bundles[0].same(b) }) {
			r.Owners = append(r.Owners, Owner{Situation: Contested, Bundles: []Bundle{b}})
		}
	}
	return r
}

// setOwner finds the owner of the set that the metadata names, if it is another one than the desired.
func setOwner(f Facts, c Claim) (Owner, bool) {
	o := Owner{Situation: UnknownID}
	if c.Have.SetID != c.Bundle.Desired.SetID {
		o.SetID = c.Have.SetID
	}
	if c.Have.Hash != c.Bundle.Desired.Hash {
		o.Hash = c.Have.Hash
	}
	if o.SetID == "" && o.Hash == "" {
		return o, false
	}
	known := KnownID
	if o.Hash != "" {
		o.Situation, known = UnknownHash, KnownHash
		o.Bundles = BundlesOf(f, Metadata{Hash: o.Hash, ReleaseName: c.Have.ReleaseName, ReleaseNamespace: c.Have.ReleaseNamespace})
	}
	if len(o.Bundles) == 0 && o.SetID != "" { // the hash may be of no bundle while the id is
		known = KnownID
		o.Bundles = BundlesOf(f, Metadata{SetID: o.SetID, ReleaseName: c.Have.ReleaseName, ReleaseNamespace: c.Have.ReleaseNamespace})
	}
	switch {
	case len(o.Bundles) == 1 && o.Bundles[0].same(c.Bundle):
		return o, false // the set of an earlier revision
	case len(o.Bundles) > 0:
		o.Situation = known
	case c.Have.SetHasOwner || foreignProgram(o.SetID):
		o.Situation = SystemSet
	case !f.SetsRead():
		o.Situation = Undecided
	}
	return o, true
}

// BundlesOf returns the bundles whose set the metadata names, by the hash or else by the id. Of several it is the one whose Helm release the
// metadata names; more than one are returned if it names none of them.
func BundlesOf(f Facts, m Metadata) []Bundle {
	hash := m.Hash
	if hash == "" {
		hash = fleet.Hash(m.SetID)
	}
	out := f.BundlesOf(hash)
	if i := slices.IndexFunc(out, func(b Bundle) bool { return b.Release != "" && b.Release == m.Release() }); i >= 0 {
		return out[i : i+1]
	}
	return out
}

// addRelease adds the Helm release that the annotations name, if it is another owner.
func (r *Result) addRelease(f Facts, release string) {
	if release == "" || slices.ContainsFunc(r.Owners, func(o Owner) bool { return slices.Contains(o.Names(), release) }) {
		return
	}
	o := Owner{Release: release, SameName: release == r.Bundle.Desired.Release()}
	switch f.Release(release, r.Bundle) {
	case Absent:
		if len(r.Owners) > 0 && r.Owners[0].Release == "" { // it was of the same owner
			r.Owners[0].Release = release
			return
		}
		o.Situation = LostRelease
	case NotDecided:
		o.Situation = Undecided
	case Exists:
		o.Situation = LivingRelease
	case Own:
		if o.SameName {
			return
		}
		o.Situation = LivingRelease
	}
	r.Owners = append(r.Owners, o)
}
