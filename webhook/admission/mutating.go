// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// mutate decides which ownership metadata an object gets, and why. Only an object that a release record names gets any. The metadata of the object
// decides whether, and for which of several releases. exact is true if an object without ownership metadata gets it too.
func mutate(req Request, f Facts, exact bool) result {
	candidates := slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool { return r.Status == desired.Uninstalling })
	switch {
	case len(candidates) == 0:
		return pass(NotDesired)
	case f.ignored(req, req.New):
		return pass(Ignored)
	case req.New.Metadata.DeletionTimestamp != "":
		return pass(Deleting)
	}
	have, had := metadataOf(req.New), metadataOf(req.Old)
	chosen, ok := ownership.Choose(asOwners(candidates), have, had)
	if !ok {
		return warn(Contested, desired.Release{}, contested(req.Key, candidates))
	}
	release := candidates[chosen]
	r := result{decision: Passed, reason: mutationReason(release, req, have, had, exact), release: release}
	if r.reason == Owned {
		return r
	}
	claim := ownership.Claim{Object: req.Key, Have: have, Bundle: asOwner(release), BySet: r.reason.bySetOnly(release, have, had)}
	if r.reason == Restored {
		// Only the hash shows that the release owns the object, and any record can state a hash. The request removes Helm
		// annotations, which may name another release.
		claim.Before = had
	}
	owners := ownership.Evaluate(f, claim)
	if _, err := owners.Decide(ownership.IfUnowned, nil); err != nil {
		return warn(Foreign, release, Warning{WarnForeign, fmt.Sprintf("%v, and bundle %s desires it: its ownership metadata is not changed", err, release.Bundle)})
	}
	if !r.reason.stamps() {
		return r
	}
	if !f.confirmed(release, req.Key, have, had) {
		return warn(Unconfirmed, release, Warning{WarnUnconfirmed, fmt.Sprintf(
			"%s is desired by bundle %s according to a release record in namespace %s, which nothing else confirms: its ownership metadata is not changed. "+
				"If you trust the records of that namespace, label it %s=%s", req.Key, release.Bundle, release.Namespace, RecordsLabel, RecordsTrusted)})
	}
	set := map[string]string{}
	for _, c := range owners.Patch() {
		if c.New != nil {
			set[c.Name] = *c.New
		}
	}
	if tooLarge(req.New, set) {
		return warn(TooLarge, release, Warning{WarnTooLarge,
			fmt.Sprintf("%s is desired by bundle %s, and its annotations leave no space for the ownership metadata", req.Key, release.Bundle)})
	}
	r.decision, r.set, r.overUnknown = Stamped, set, len(owners.Owners) > 0
	class, idMismatch := ownership.Classify(had, release.Metadata)
	r.lost = req.Old != nil && (class != ownership.Owned || idMismatch)
	return r
}

// mutationReason is the reason to give an object the metadata of a release, or not to, if no other owner exists.
func mutationReason(release desired.Release, req Request, have, had ownership.Metadata, exact bool) Reason {
	class, idMismatch := ownership.Classify(have, release.Metadata)
	before, _ := ownership.Classify(had, release.Metadata)
	switch {
	case class == ownership.Owned && !idMismatch:
		return Owned
	case before == ownership.Owned:
		return Restored
	case req.New.Controller() != "":
		return Controlled
	case class != ownership.Unmarked && class != ownership.ForeignOwner, have.Release() == release.Release():
		return Adopted
	case exact:
		return Exact
	}
	return NoMetadata
}

// stamps reports whether an object gets ownership metadata for this reason.
func (r Reason) stamps() bool { return r == Adopted || r == Restored || r == Exact }

// bySetOnly reports whether only its set connects an object with the release. A record that is not known may state the same set.
func (r Reason) bySetOnly(release desired.Release, have, had ownership.Metadata) bool {
	name := release.Release()
	return (r == Adopted || r == Restored) && have.Release() != name && had.Release() != name
}

// contested is the warning that names the bundles, with the releases of bundles that have the same name.
func contested(k object.Key, candidates []desired.Release) Warning {
	candidates = slices.CompactFunc(candidates, func(a, b desired.Release) bool { return a.Release() == b.Release() })
	names := make([]string, len(candidates))
	for i, r := range candidates {
		names[i] = "bundle " + r.Bundle
		if slices.ContainsFunc(candidates, func(other desired.Release) bool { return other.Bundle == r.Bundle && other.Release() != r.Release() }) {
			names[i] += " (release " + r.Release() + ")"
		}
	}
	return Warning{WarnContested, fmt.Sprintf("%s is desired by %s, and its metadata does not identify one of them as the owner: its ownership metadata is not changed",
		k, strings.Join(names, " and by "))}
}

// tooLarge reports whether the keys would make an object's annotations exceed the limit of the API server.
func tooLarge(m *object.Meta, set map[string]string) bool {
	after := maps.Clone(m.Metadata.Annotations)
	if after == nil {
		after = map[string]string{}
	}
	for _, k := range ownership.Keys() {
		if v, ok := set[k.Name]; ok && !k.Label {
			after[k.Name] = v
		}
	}
	return apivalidation.ValidateAnnotationsSize(m.Metadata.Annotations) == nil && apivalidation.ValidateAnnotationsSize(after) != nil
}
