// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Existence describes a Helm release.
type Existence int

// The values of Existence.
const (
	Absent     Existence = iota // all release records were read, and none is of the release
	Exists                      // the release exists, and is not the bundle's
	Own                         // the release is the bundle's, or no other owner uses its name
	NotDecided                  // the record of the release, or some other record, could not be read
)

// Facts describe a cluster.
type Facts interface {
	// BundlesOf returns the bundles that have the set with a hash.
	BundlesOf(hash string) []Bundle
	// Release describes the Helm release "namespace/name", which may be the release of the bundle.
	Release(name string, bundle Bundle) Existence
	// SetsKnown reports whether all release records were read that may have the set of an object, so that the owner of
	// its set is known.
	SetsKnown(object.Key) bool
}

// Claim is an object and a bundle that may own it.
type Claim struct {
	Object object.Key
	Have   Metadata
	// Bundle is the zero value to find all owners.
	Bundle Bundle
	// DesiredBy are the other bundles that desire the object.
	DesiredBy []Bundle
	// Before is the metadata that an update of the object removes. The Helm release that it names may be an owner too.
	Before Metadata
	// BySet is true if only the set of the object shows that the bundle owns it. A record that was not read may have
	// the same set.
	BySet bool
}

// Result has the owners of the object of a Claim.
type Result struct {
	Claim
	Class Class
	// Owners are the other owners than the bundle: first those that the metadata names, and then the other bundles that
	// desire the object.
	Owners []Owner
	// Same is true if the fields of the object were compared with the bundle, and none differs. Evaluate does not know
	// the fields: the caller sets it.
	Same bool
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
	if len(r.Owners) == 0 && c.BySet && !f.SetsKnown(c.Object) {
		r.Owners = append(r.Owners, Owner{Situation: Undecided})
	}
	for _, b := range c.DesiredBy {
		if !slices.ContainsFunc(r.Owners, func(o Owner) bool { return len(o.Bundles) == 1 && o.Bundles[0].same(b) }) {
			r.Owners = append(r.Owners, Owner{Situation: Contested, Bundles: []Bundle{b}})
		}
	}
	return r
}

// setOwner finds the owner of the set that the metadata names, unless the bundle owns the set.
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
		o.Bundles = bundlesOf(f, o.Hash, c.Have.Release())
	}
	if len(o.Bundles) == 0 && o.SetID != "" { // the id may be of a bundle although the hash is not
		known = KnownID
		o.Bundles = bundlesOf(f, fleet.Hash(o.SetID), c.Have.Release())
	}
	switch {
	case len(o.Bundles) == 1 && o.Bundles[0].same(c.Bundle):
		return o, false // the set of an earlier revision
	case len(o.Bundles) > 0:
		o.Situation = known
	case c.Have.SetHasOwner || foreignProgram(o.SetID):
		o.Situation = SystemSet
	case !f.SetsKnown(c.Object):
		o.Situation = Undecided
	}
	return o, true
}

// BundlesOf returns the bundles with the set that the metadata names, by the hash or else by the id. If several bundles
// have the set, it is the one with the Helm release that the metadata names, or all if the metadata names the release
// of none.
func BundlesOf(f Facts, m Metadata) []Bundle {
	return bundlesOf(f, cmp.Or(m.Hash, fleet.Hash(m.SetID)), m.Release())
}

func bundlesOf(f Facts, hash, release string) []Bundle {
	out := f.BundlesOf(hash)
	if i := slices.IndexFunc(out, func(b Bundle) bool { return b.Release != "" && b.Release == release }); i >= 0 {
		return out[i : i+1]
	}
	return out
}

// addRelease adds the Helm release that the annotations name, if it is another owner.
func (r *Result) addRelease(f Facts, release string) {
	if release == "" || slices.ContainsFunc(r.Owners, func(o Owner) bool {
		return slices.Contains(o.Names(), release)
	}) {
		return
	}
	o := Owner{Situation: ExistingRelease, Release: release, SameName: release == r.Bundle.Desired.Release()}
	switch f.Release(release, r.Bundle) {
	case Absent:
		if len(r.Owners) > 0 && r.Owners[0].Release == "" { // the set and the release were of the same owner
			r.Owners[0].Release = release
			return
		}
		o.Situation = LostRelease
	case NotDecided:
		o.Situation = Undecided
	case Own:
		if o.SameName {
			return
		}
	}
	r.Owners = append(r.Owners, o)
}

// Decide applies a policy. takeFrom lists names of owners that the policy does not protect. It returns the situation
// that the answer depends on. The error is a *RefusalError.
func (r Result) Decide(p Policy, takeFrom []string) (Situation, error) {
	refusal := &RefusalError{Result: r}
	for _, o := range r.Owners {
		if slices.ContainsFunc(o.Names(), func(name string) bool { return slices.Contains(takeFrom, name) }) {
			continue
		}
		switch answer(p, o.Situation) {
		case Leave:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{o, IfUnowned})
		case OnlyNamed:
			refusal.Conflicts = append(refusal.Conflicts, Conflict{Owner: o})
		}
	}
	if !r.Same && answer(p, Differs) != Take {
		refusal.Conflicts = append(refusal.Conflicts, Conflict{Owner{Situation: Differs}, IfUnowned})
	}
	switch {
	case len(refusal.Conflicts) > 0:
		return refusal.Conflicts[0].Situation, refusal
	case len(r.Owners) == 0:
		return r.own(), nil
	}
	return r.Owners[0].Situation, nil
}

// own is the situation of an object without other owners.
func (r Result) own() Situation {
	switch r.Class {
	case HelmOnly:
		return OwnRelease
	case HashStripped, Inconsistent:
		return OwnID
	}
	return NoMetadata
}

// RefusalError is the error of a change of owner that a policy does not allow.
type RefusalError struct {
	Result
	// Conflicts are all owners that the policy protects.
	Conflicts []Conflict
}

// Error implements error.
func (r *RefusalError) Error() string {
	owners := make([]string, len(r.Conflicts))
	for i, c := range r.Conflicts {
		owners[i] = c.Describe()
	}
	return fmt.Sprintf("%s %s", r.Object, strings.Join(owners, "; "))
}

// Conflict is an owner that a policy protects.
type Conflict struct {
	Owner
	// AllowedBy is the policy that does not protect the owner; "" if all policies do.
	AllowedBy Policy
}
