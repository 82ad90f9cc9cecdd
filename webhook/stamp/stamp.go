// SPDX-License-Identifier: Apache-2.0

// Package stamp decides which marks an object gets at admission. It is pure: what releases desire it asks a Registry.
//
// Only what a release's record names by group, kind, namespace and name is ever stamped; what the object itself says decides no more than
// whether it is, and for which of several releases.
package stamp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Registry knows who desires an object, and who is there.
type Registry interface {
	Lookup(object.Key) []desired.Release
	BySet(hash string) []desired.Release
	HasRelease(name string) bool
	Complete() bool
}

// IgnoreLabel keeps the webhook away, with the value "true" on an object or its namespace.
const IgnoreLabel = "fleetdoctor.io/ignore"

// Request is a write of one object.
type Request struct {
	Key object.Key
	// Manager is the field manager that the request states.
	Manager string
	// Old is the object as it is stored, nil where it is created; New as it would be.
	Old, New *object.Meta
	// Exact says that an object which names nobody is stamped too.
	Exact bool
	// Ignored says that the namespace carries the IgnoreLabel.
	Ignored bool
	// Stale says that the registry may be out of date: whom it does not know may be there.
	Stale bool
}

// Reason is why a request was stamped, or was not. The values are words of metrics and audit annotations.
type Reason string

// The reasons. Of Adopted, Restored and Exact the object is stamped.
const (
	Adopted    Reason = "Adopted"    // it says that it belongs to the release
	Restored   Reason = "Restored"   // it had the release's hash, and would have lost its marks
	Exact      Reason = "Exact"      // it says nothing, and whoever owns the namespace asked for that
	Owned      Reason = "Owned"      // it has what it needs
	NotWanted  Reason = "NotWanted"  // no release desires it
	Ignored    Reason = "Ignored"    // somebody asked for it to be left alone
	Deleting   Reason = "Deleting"   // it is being deleted
	Controlled Reason = "Controlled" // it has a controller, which made it
	Unmarked   Reason = "Unmarked"   // it does not say that it belongs to the release
	Foreign    Reason = "Foreign"    // another owner holds it, who lives or of whom that is not known
	TooLarge   Reason = "TooLarge"   // the API server would refuse it with the marks
	Contested  Reason = "Contested"  // more than one release desires it, and it names none of them
)

// Stamps says whether an object is stamped for that reason.
func (r Reason) Stamps() bool { return r == Adopted || r == Restored || r == Exact }

// setAlone says whether nothing but its set says that an object is the release's. A record that is not known may state the same.
func (r Reason) setAlone(owner desired.Release, have, had ownership.Marks) bool {
	name := owner.Metadata.Release()
	return (r == Adopted || r == Restored) && have.Release() != name && had.Release() != name
}

// Decision is what becomes of a request.
type Decision struct {
	Reason Reason
	// Release desires the object; it is the zero value where none does, or which one cannot be said.
	Release desired.Release
	// Set are the keys to be written, with their values; empty where nothing is.
	Set ownership.Stamps
	// Over says that marks of another owner are written over, of whom nothing is known.
	Over bool
	// Lost says that the stored object already lacks what is written: stamps that others take away again can go on for ever, these alone.
	Lost bool
	// Warning is for whoever made the request; it names who desires the object and who holds it. Empty where there is nothing to say.
	Warning string
}

// Decide decides about a request. What adopt or its undo write is left alone: it was done on purpose.
func Decide(r Registry, req Request) Decision {
	owners := slices.DeleteFunc(r.Lookup(req.Key), func(o desired.Release) bool {
		return o.Status == desired.Uninstalling || o.Metadata.Hash == "" || fleet.IsAgentBundle(o.Bundle) // an agent looks after its own objects
	})
	switch {
	case len(owners) == 0:
		return Decision{Reason: NotWanted}
	case req.Ignored || req.New.Metadata.Labels[IgnoreLabel] == "true" || req.Manager == ownership.FieldManager:
		return Decision{Reason: Ignored}
	case req.New.Metadata.DeletionTimestamp != "":
		return Decision{Reason: Deleting}
	}
	have, had := marks(req.New), marks(req.Old)
	owner, ok := ownerOf(owners, have, had)
	if !ok {
		return Decision{Reason: Contested, Warning: contested(req.Key, owners)}
	}
	d := Decision{Release: owner, Reason: reason(owner, req, have, had)}
	if d.Reason == Owned {
		return d
	}
	holder, unknown := foreign(r, owner, req.New)
	if d.Reason == Restored && holder == "" && had.ReleaseName != "" && had.Release() != owner.Metadata.Release() {
		// The hash alone says it is the release's, and anybody may state that in a record. Helm's annotations are about to be gone.
		if holder, unknown = "", true; r.HasRelease(had.Release()) {
			holder = "Helm release " + had.Release()
		}
	}
	if holder == "" && (unknown || d.Reason.setAlone(owner, have, had)) && (req.Stale || !r.Complete()) {
		holder = "an owner of whom nothing is known here, while not every release record is known"
	}
	if holder != "" {
		d.Reason = Foreign
		d.Warning = fmt.Sprintf("%s is desired by bundle %s and held by %s: its marks are left as they are", req.Key, owner.Bundle, holder)
		return d
	}
	if !d.Reason.Stamps() {
		return d
	}
	d.Set = lacking(ownership.StampsOf(req.New.Metadata.Labels, req.New.Metadata.Annotations), owner.Metadata.Stamps())
	d.Over = unknown
	d.Lost = req.Old != nil && (had.Hash != owner.Metadata.Hash || had.SetID != owner.Metadata.SetID)
	if tooLarge(req.New, d.Set) {
		return Decision{Release: owner, Reason: TooLarge,
			Warning: fmt.Sprintf("%s is desired by bundle %s, and its annotations leave no room for the marks", req.Key, owner.Bundle)}
	}
	return d
}

// reason says whether an object is to be stamped for a release, were it nobody else's.
func reason(owner desired.Release, req Request, have, had ownership.Marks) Reason {
	switch {
	case have.Hash == owner.Metadata.Hash && have.SetID == owner.Metadata.SetID:
		return Owned
	case had.Hash == owner.Metadata.Hash:
		return Restored
	case req.New.Controller() != "":
		return Controlled
	case have.Release() == owner.Metadata.Release() || have.SetID == owner.Metadata.SetID || have.Hash == owner.Metadata.Hash:
		return Adopted
	case req.Exact:
		return Exact
	}
	return Unmarked
}

// ownerOf picks the revision that the object says it belongs to, or said before. Where only one release desires it, it is one of that.
//
// A set's id is no secret, and anybody who may write a release record can state one, but none in another's namespace. So of several releases
// that state the set which the object carries it is the one that Helm's annotations name, else none. Where one is found, owners has no others
// afterwards.
func ownerOf(owners []desired.Release, have, had ownership.Marks) (desired.Release, bool) {
	if len(owners) == 1 {
		return owners[0], true
	}
	name, ok := owners[0].Release(), true
	if slices.ContainsFunc(owners, func(o desired.Release) bool { return o.Release() != name }) {
		name, ok = releaseOf(owners, have, had)
	}
	if !ok {
		return desired.Release{}, false
	}
	return revisionOf(slices.DeleteFunc(owners, func(o desired.Release) bool { return o.Release() != name }), have, had), true
}

// releaseOf picks one of several releases.
func releaseOf(owners []desired.Release, have, had ownership.Marks) (name string, ok bool) {
	is, was := named(owners, have), named(owners, had)
	if sets := ofSet(owners, have); len(sets) > 0 {
		if is != "" {
			return is, true // also where the set is another's: then nothing is written
		}
		return only(sets, was)
	}
	// Fleet goes by the hash, also by the one that is about to be lost.
	if sets := ofSet(owners, ownership.Marks{Hash: had.Hash}); len(sets) > 0 {
		if was != "" {
			return was, slices.Contains(sets, was)
		}
		return only(sets, is)
	}
	if is != "" {
		return is, true
	}
	if sets := ofSet(owners, had); len(sets) > 0 && was == "" {
		return only(sets, "")
	}
	return was, was != ""
}

// only is the one of some releases: the one that is named, if one is.
func only(releases []string, named string) (string, bool) {
	if slices.Contains(releases, named) {
		return named, true
	}
	return releases[0], len(releases) == 1
}

// named is the release that Helm's annotations name, if that is an owner.
func named(owners []desired.Release, m ownership.Marks) string {
	if slices.ContainsFunc(owners, func(o desired.Release) bool { return o.Metadata.Release() == m.Release() }) {
		return m.Release()
	}
	return ""
}

// ofSet are the releases that have the set which marks name, by the hash, else by the id.
func ofSet(owners []desired.Release, m ownership.Marks) []string {
	for _, says := range []func(want ownership.Marks) bool{
		func(want ownership.Marks) bool { return m.Hash == want.Hash },
		func(want ownership.Marks) bool { return m.SetID == want.SetID },
	} {
		var out []string
		for _, o := range owners {
			if says(o.Metadata) {
				out = append(out, o.Release())
			}
		}
		if len(out) > 0 {
			return slices.Compact(out) // the revisions of a release stand together
		}
	}
	return nil
}

// revisionOf picks one of a release's revisions that count, of which the newest is first: the one whose set the object has, or had. So what
// agrees with the deployed revision is not changed for one that Helm began to deploy, and may never have.
func revisionOf(revisions []desired.Release, have, had ownership.Marks) desired.Release {
	for _, says := range []func(want ownership.Marks) bool{
		func(want ownership.Marks) bool { return have.Hash == want.Hash },
		func(want ownership.Marks) bool { return have.SetID == want.SetID },
		func(want ownership.Marks) bool { return had.Hash == want.Hash },
		func(want ownership.Marks) bool { return had.SetID == want.SetID },
	} {
		if i := slices.IndexFunc(revisions, func(o desired.Release) bool { return says(o.Metadata) }); i >= 0 {
			return revisions[i]
		}
	}
	return revisions[0]
}

// foreign says who else holds an object, by the rules of `adopt --policy=if-unowned`: a set or a release that is here, or a set of another
// program. It is empty where nobody does; unknown says that the object carries marks of somebody of whom nothing is known.
func foreign(r Registry, owner desired.Release, m *object.Meta) (holder string, unknown bool) {
	have, want := marks(m), owner.Metadata
	foreignID := have.SetID != "" && have.SetID != want.SetID
	foreignHash := have.Hash != "" && have.Hash != want.Hash
	foreignRelease := have.ReleaseName != "" && have.Release() != want.Release()
	var sets []desired.Release
	if foreignHash {
		sets = r.BySet(have.Hash)
	}
	if foreignID && len(sets) == 0 {
		sets = r.BySet(fleet.Hash(have.SetID))
	}
	if i := slices.IndexFunc(sets, func(o desired.Release) bool { return o.Metadata.Release() == have.Release() }); i >= 0 {
		sets = sets[i : i+1]
	}
	switch {
	case len(sets) > 1:
		return "one of the releases " + releases(sets) + ", which state the same set", false
	case len(sets) == 1 && sets[0].Release() != owner.Release(): // a revision from before may have had another set
		return "bundle " + sets[0].Bundle, false
	case len(sets) == 1:
		return "", false
	case foreignID && ownership.ForeignProgram(have.SetID):
		return fmt.Sprintf("set %q, which is no bundle's", have.SetID), false
	case (foreignID || foreignHash) && ownership.OwnedSet(m.Metadata.Annotations):
		return "a set that is no bundle's", false
	case foreignRelease && r.HasRelease(have.Release()):
		return "Helm release " + have.Release(), false
	}
	return "", foreignID || foreignHash || foreignRelease
}

// contested names the bundles, and their releases where bundles are called alike.
func contested(k object.Key, owners []desired.Release) string {
	owners = slices.CompactFunc(owners, func(a, b desired.Release) bool { return a.Release() == b.Release() })
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = "bundle " + o.Bundle
		if slices.ContainsFunc(owners, func(other desired.Release) bool { return other.Bundle == o.Bundle && other.Release() != o.Release() }) {
			names[i] += " (release " + o.Release() + ")"
		}
	}
	return fmt.Sprintf("%s is desired by %s, and does not say which of them owns it: its marks are left as they are", k, strings.Join(names, " and by "))
}

func releases(all []desired.Release) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.Release()
	}
	return strings.Join(names, " and ")
}

// tooLarge says whether the keys to be written would take an object's annotations over what the API server takes.
func tooLarge(m *object.Meta, set ownership.Stamps) bool {
	before := 0
	for k, v := range m.Metadata.Annotations {
		before += len(k) + len(v)
	}
	after := before
	for k, v := range set {
		if k == fleet.HashLabel || k == fleet.ManagedByLabel {
			continue
		}
		if old, there := m.Metadata.Annotations[k]; there {
			after -= len(k) + len(old)
		}
		after += len(k) + len(v)
	}
	return before <= validation.TotalAnnotationSizeLimitB && after > validation.TotalAnnotationSizeLimitB
}

func marks(m *object.Meta) ownership.Marks {
	if m == nil {
		return ownership.Marks{}
	}
	return ownership.MarksOf(m.Metadata.Labels, m.Metadata.Annotations)
}

// lacking are the wanted keys that an object has not, or has otherwise.
func lacking(have, want ownership.Stamps) ownership.Stamps {
	out := maps.Clone(want)
	maps.DeleteFunc(out, func(k, v string) bool { return have[k] == v })
	return out
}
