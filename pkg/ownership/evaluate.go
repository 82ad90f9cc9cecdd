// SPDX-License-Identifier: Apache-2.0

// Package ownership finds the owner of an object from the ownership metadata of the object, the ownership metadata that
// bundles desire, and Facts about the cluster. Classify compares metadata, Evaluate finds owners, Result.Decide applies
// a policy, Owner.Lost finds the metadata that an update removes, and Choose selects one of several bundles that desire
// an object. The package is pure.
//
// Fleet's agent reads only the hash label. Helm reads only its own label and annotations.
package ownership

import (
	"cmp"
	"errors"
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

// OnlyFrom names the release or the set that owns the object, if it exists and nothing else protects the object: the
// bundle can then take the object with this name. It is "" otherwise, and for a set of Fleet itself or of Rancher.
func (r Result) OnlyFrom() string {
	_, err := r.Decide(IfUnowned, nil)
	if refusal, ok := errors.AsType[*RefusalError](err); ok && len(refusal.Conflicts) == 1 {
		switch owner := refusal.Conflicts[0]; owner.Situation {
		case ExistingRelease, KnownID, KnownHash:
			return owner.Name()
		}
	}
	return ""
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

// sameSet are the comparisons of a set: by the hash, which Fleet compares, and then by the id.
var sameSet = []func(Metadata, Bundle) bool{
	func(m Metadata, b Bundle) bool { return m.Hash == b.Desired.Hash },
	func(m Metadata, b Bundle) bool { return m.SetID == b.Desired.SetID },
}

// Choose returns the index of the bundle that owns an object, or should own it, of several bundles that desire it. The
// bundles are ordered by release; of a release the newest revision is first. have is the metadata of the object, and
// before is the metadata that an update replaces. ok is false if the metadata does not identify one bundle.
//
// Set ids are not secret: a user who may write release records in one namespace can state the set of a release in
// another namespace. If several releases have the set of the object, Choose returns only the one that the Helm
// annotations name.
func Choose(bundles []Bundle, have, before Metadata) (index int, ok bool) {
	release, ok := bundles[0].Release, true
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release != release }) {
		release, ok = chooseRelease(bundles, have, before)
	}
	if !ok {
		return 0, false
	}
	// Choose the revision with the set of the object. The metadata must not change from the deployed revision to a
	// pending one, because the upgrade may fail.
	for _, m := range []Metadata{have, before} {
		for _, same := range sameSet {
			if i := slices.IndexFunc(bundles, func(b Bundle) bool {
				return b.Release == release && same(m, b)
			}); i >= 0 {
				return i, true
			}
		}
	}
	return slices.IndexFunc(bundles, func(b Bundle) bool { return b.Release == release }), true
}

func chooseRelease(bundles []Bundle, have, before Metadata) (release string, ok bool) {
	is, was := named(bundles, have), named(bundles, before)
	if sets := releasesOf(bundles, have); len(sets) > 0 {
		if is != "" {
			return is, true // also if another bundle has the set: Evaluate finds that one
		}
		return only(sets, was)
	}
	// Fleet compares the hash, so the hash that the update removes is next.
	if sets := releasesOf(bundles, Metadata{Hash: before.Hash}); len(sets) > 0 {
		if was != "" {
			return was, slices.Contains(sets, was)
		}
		return only(sets, is)
	}
	if is != "" {
		return is, true
	}
	if sets := releasesOf(bundles, before); len(sets) > 0 && was == "" {
		return only(sets, "")
	}
	return was, was != ""
}

// only returns the named release if it is in the list, and otherwise the first; ok is false if there are others.
func only(releases []string, named string) (release string, ok bool) {
	if slices.Contains(releases, named) {
		return named, true
	}
	return releases[0], len(releases) == 1
}

// named returns the release that the Helm annotations name; "" if none of the bundles has it.
func named(bundles []Bundle, m Metadata) string {
	if slices.ContainsFunc(bundles, func(b Bundle) bool { return b.Release == m.Release() }) {
		return m.Release()
	}
	return ""
}

// releasesOf returns the releases with the set that the metadata names, by the hash or else by the id.
func releasesOf(bundles []Bundle, m Metadata) []string {
	for _, same := range sameSet {
		var out []string
		for _, b := range bundles {
			if same(m, b) {
				out = append(out, b.Release)
			}
		}
		if len(out) > 0 {
			return slices.Compact(out)
		}
	}
	return nil
}

// Class is the result of a comparison of an object's ownership metadata with the desired metadata. The values other
// than Owned are reasons of the state Unowned in the report.
type Class string

// The classes.
const (
	// Owned: the hash is the desired one.
	Owned Class = ""
	// Unmarked: no hash, no id, and no Helm release.
	Unmarked Class = "Unmarked"
	// HelmOnly: the Helm annotations name the bundle's release, and neither id nor hash is set. The option
	// helm.takeOwnership has this effect.
	HelmOnly Class = "HelmOnly"
	// HashStripped: the id is the desired one, and no hash is set.
	HashStripped Class = "HashStripped"
	// ForeignOwner: the hash or the id of another set, or the Helm annotations of another release.
	ForeignOwner Class = "ForeignOwner"
	// Inconsistent: the id is the desired one, and the hash is of another set.
	Inconsistent Class = "Inconsistent"
)

// Classify compares the ownership metadata of an object with the desired metadata. idMismatch is true if an owned
// object has another id, or none. Fleet ignores that.
func Classify(have, desired Metadata) (class Class, idMismatch bool) {
	switch {
	case have.Hash == desired.Hash:
		return Owned, have.SetID != desired.SetID
	case have.SetID == desired.SetID && have.Hash == "":
		return HashStripped, false
	case have.SetID == desired.SetID:
		return Inconsistent, false
	case have.Hash != "" || have.SetID != "":
		return ForeignOwner, false
	case have.ReleaseName == "" && have.ReleaseNamespace == "":
		return Unmarked, false // managed-by names no owner: charts write it too
	case have.Release() == desired.Release():
		return HelmOnly, false
	}
	return ForeignOwner, false
}

// foreignProgram reports whether a set is of Fleet itself, or of another program that uses the same label, as Rancher
// and K3s do. Such a set has no release record, so it is not known whether the set still exists.
func foreignProgram(setID string) bool {
	return setID != "" && (fleet.IsFleetsOwnSet(setID) || !fleet.IsBundleSet(setID))
}
