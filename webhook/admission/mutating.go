// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// mutation is what the mutating handlers do with an object: which ownership metadata it gets, and why. Only an object
// that a release record names gets any; what the object itself states decides whether, and for which of several releases.
type mutation struct {
	reason Reason
	// release desires the object; the zero value if none does, or if it is not known which one.
	release desired.Release
	// set are the keys to write with their values; empty if nothing is written.
	set ownership.Stamps
	// overUnknown says that set replaces the metadata of an owner that is not known.
	overUnknown bool
	// lost says that the stored object already lacks what is written. Only then two programs can undo each other's writes
	// for ever.
	lost bool
	// warnings name who desires the object and who owns it.
	warnings []Warning
}

// mutate decides which ownership metadata an object gets. exact says that an object without any gets it too.
func mutate(req Request, f Facts, exact bool) mutation {
	candidates := slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool {
		return r.Status == desired.Uninstalling || r.Metadata.Hash == "" || fleet.IsAgentBundle(r.Bundle) // an agent keeps its own objects
	})
	switch {
	case len(candidates) == 0:
		return mutation{reason: NotDesired}
	case f.ignored(req, req.New):
		return mutation{reason: Ignored}
	case req.New.Metadata.DeletionTimestamp != "":
		return mutation{reason: Deleting}
	}
	have, had := metadataOf(req.New), metadataOf(req.Old)
	release, ok := chooseRevision(candidates, have, had)
	if !ok {
		return mutation{reason: Contested, warnings: contested(req.Key, candidates)}
	}
	m := mutation{release: release, reason: mutationReason(release, req, have, had, exact)}
	if m.reason == Owned {
		return m
	}
	owner, unknown := otherOwner(f, release, req.New)
	if m.reason == Restored && owner == "" && had.ReleaseName != "" && had.Release() != release.Metadata.Release() {
		// Only the hash says that the object is the release's, and any record can state a hash. The request removes the
		// Helm annotations, which name another release.
		if owner, unknown = "", true; f.OldReleaseExists {
			owner = "Helm release " + had.Release()
		}
	}
	if owner == "" && (unknown || m.reason.bySetOnly(release, have, had)) && (!f.Live || !f.Complete) {
		owner = "an unknown owner, while not all release records are known"
	}
	if owner != "" {
		m.reason = Foreign
		m.warnings = []Warning{{WarnForeign, fmt.Sprintf("%s is desired by bundle %s and owned by %s: its ownership metadata is not changed",
			req.Key, release.Bundle, owner)}}
		return m
	}
	if !m.reason.stamps() {
		return m
	}
	m.set = missing(keysOf(req.New), release.Metadata.Stamps())
	m.overUnknown = unknown
	m.lost = req.Old != nil && (had.Hash != release.Metadata.Hash || had.SetID != release.Metadata.SetID)
	if tooLarge(req.New, m.set) {
		return mutation{release: release, reason: TooLarge, warnings: []Warning{{WarnTooLarge,
			fmt.Sprintf("%s is desired by bundle %s, and its annotations leave no space for the ownership metadata", req.Key, release.Bundle)}}}
	}
	return m
}

// mutationReason says whether an object gets the metadata of a release, if nobody else owns it.
func mutationReason(release desired.Release, req Request, have, had ownership.Marks, exact bool) Reason {
	want := release.Metadata
	switch {
	case have.Hash == want.Hash && have.SetID == want.SetID:
		return Owned
	case had.Hash == want.Hash:
		return Restored
	case req.New.Controller() != "":
		return Controlled
	case have.Release() == want.Release() || have.SetID == want.SetID || have.Hash == want.Hash:
		return Adopted
	case exact:
		return Exact
	}
	return NoMetadata
}

// stamps says whether an object gets ownership metadata for this reason.
func (r Reason) stamps() bool { return r == Adopted || r == Restored || r == Exact }

// bySetOnly says whether only its set connects an object with the release. A record that is not known may state the same.
func (r Reason) bySetOnly(release desired.Release, have, had ownership.Marks) bool {
	name := release.Metadata.Release()
	return (r == Adopted || r == Restored) && have.Release() != name && had.Release() != name
}

// otherOwner returns who else owns an object, by the rules of `adopt --policy=if-unowned`: a set or a release that exists,
// or a set of another program. It is empty for nobody; unknown says that the object has metadata of an owner of which
// nothing is known.
func otherOwner(f Facts, release desired.Release, m *object.Meta) (owner string, unknown bool) {
	have, want := metadataOf(m), release.Metadata
	foreignID := have.SetID != "" && have.SetID != want.SetID
	foreignHash := have.Hash != "" && have.Hash != want.Hash
	foreignRelease := have.ReleaseName != "" && have.Release() != want.Release()
	var sets []desired.Release
	if foreignHash {
		sets = f.ByHash
	}
	if foreignID && len(sets) == 0 {
		sets = f.ByID
	}
	if i := slices.IndexFunc(sets, func(r desired.Release) bool { return r.Metadata.Release() == have.Release() }); i >= 0 {
		sets = sets[i : i+1]
	}
	switch {
	case len(sets) > 1:
		return "one of the releases " + releaseNames(sets) + ", which state the same set", false
	case len(sets) == 1 && sets[0].Release() != release.Release(): // an earlier revision may have had another set
		return "bundle " + sets[0].Bundle, false
	case len(sets) == 1:
		return "", false
	case foreignID && ownership.ForeignProgram(have.SetID):
		return fmt.Sprintf("set %q, which is not a bundle's", have.SetID), false
	case (foreignID || foreignHash) && ownership.OwnedSet(m.Metadata.Annotations):
		return "a set that is not a bundle's", false
	case foreignRelease && f.ReleaseExists:
		return "Helm release " + have.Release(), false
	}
	return "", foreignID || foreignHash || foreignRelease
}

// contested names the bundles, and the releases of bundles with the same name.
func contested(k object.Key, candidates []desired.Release) []Warning {
	candidates = slices.CompactFunc(candidates, func(a, b desired.Release) bool { return a.Release() == b.Release() })
	names := make([]string, len(candidates))
	for i, r := range candidates {
		names[i] = "bundle " + r.Bundle
		if slices.ContainsFunc(candidates, func(other desired.Release) bool { return other.Bundle == r.Bundle && other.Release() != r.Release() }) {
			names[i] += " (release " + r.Release() + ")"
		}
	}
	return []Warning{{WarnContested, fmt.Sprintf("%s is desired by %s, and does not say which of them owns it: its ownership metadata is not changed",
		k, strings.Join(names, " and by "))}}
}

func releaseNames(all []desired.Release) string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Release()
	}
	return strings.Join(names, " and ")
}

// tooLarge says whether the keys would take an object's annotations over the limit of the API server.
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
	return before <= apivalidation.TotalAnnotationSizeLimitB && after > apivalidation.TotalAnnotationSizeLimitB
}

// missing returns the desired keys that an object does not have, or has with another value.
func missing(have, want ownership.Stamps) ownership.Stamps {
	out := maps.Clone(want)
	maps.DeleteFunc(out, func(k, v string) bool { return have[k] == v })
	return out
}
