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

// decideMutation is the decision of a mutating handler. exact is true if an object without ownership metadata gets it
// too.
func decideMutation(req Request, f Facts, exact bool) Decision {
	d := mutate(req, f, exact)
	if len(d.set) == 0 {
		return d
	}
	if d.overUnknown && !f.Rechecked { // a record may show the owner
		return Decision{action: Passed, reason: d.reason, release: d.release, recheck: true}
	}
	if d.reason == Restored {
		return guarded(req, f, d)
	}
	return d
}

// guarded is the decision to restore metadata, if the guard allows the request. The API server calls the validating
// handler with the restored metadata, so that handler finds no harm.
func guarded(req Request, f Facts, d Decision) Decision {
	guard := decideValidation(req, f)
	switch {
	case guard.action == Denied, guard.recheck && !f.Rechecked:
		return guard
	case guard.reason == Fleet && d.overUnknown: // Fleet gives the object to another of its sets
		return Decision{action: Passed, reason: Foreign, release: d.release}
	case guard.action == Warned:
		restored := Warning{WarnRestored, "the ownership metadata of " + req.Key.String() + " was restored"}
		d.warnings = slices.Concat(guard.warnings, []Warning{restored})
	}
	return d
}

// mutate decides which ownership metadata an object gets, and why. Only an object that a release record names gets any.
// The metadata of the object decides whether, and for which of several releases.
func mutate(req Request, f Facts, exact bool) Decision {
	candidates := slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool {
		return r.Status == desired.Uninstalling
	})
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
	reason := mutationReason(release, req, exact)
	if reason == Owned {
		return Decision{action: Passed, reason: Owned, release: release}
	}
	named := have.Release() == release.Release() || had.Release() == release.Release()
	claim := ownership.Claim{Object: req.Key, Have: have, Bundle: asOwner(release),
		// Only its set connects the object with the release. A record that is not known may state the same set.
		BySet: !named && (reason == Adopted || reason == Restored)}
	if reason == Restored {
		// Only the hash shows that the release owns the object, and any record can state a hash. The request removes
		// Helm annotations, which may name another release.
		claim.Before = had
	}
	owners := ownership.Evaluate(f, claim)
	if _, err := owners.Decide(ownership.IfUnowned, nil); err != nil {
		return warn(Foreign, release, Warning{WarnForeign,
			fmt.Sprintf("%v, and bundle %s desires it: its ownership metadata is not changed", err, release.Bundle)})
	}
	if !reason.stamps() {
		return Decision{action: Passed, reason: reason, release: release}
	}
	if !f.confirmed(release, req.Key, have, had) {
		return warn(Unconfirmed, release, Warning{WarnUnconfirmed, fmt.Sprintf("%s is desired by bundle %s according "+
			"to a release record in namespace %s, which nothing else confirms: its ownership metadata is not changed; "+
			"%s", req.Key, release.Bundle, release.Namespace, ownership.TrustAdvice(release.Namespace))})
	}
	return stamp(req, reason, release, owners)
}

// stamp is the decision to write the metadata of a release into an object, unless it has no space for them.
func stamp(req Request, reason Reason, release desired.Release, owners ownership.Result) Decision {
	set := map[string]string{}
	for _, c := range owners.Patch() {
		if c.New != nil {
			set[c.Name] = *c.New
		}
	}
	if tooLarge(req.New.Metadata.Annotations, set) {
		return warn(TooLarge, release, Warning{WarnTooLarge, fmt.Sprintf("%s is desired by bundle %s, "+
			"and its annotations leave no space for the ownership metadata", req.Key, release.Bundle)})
	}
	before, idMismatch := ownership.Classify(metadataOf(req.Old), release.Metadata)
	lost := req.Old != nil && (before != ownership.Owned || idMismatch)
	return Decision{action: Stamped, reason: reason, release: release, set: set,
		overUnknown: len(owners.Owners) > 0, lost: lost}
}

// mutationReason is the reason to give an object the metadata of a release, or not to, if no other owner exists.
func mutationReason(release desired.Release, req Request, exact bool) Reason {
	have := metadataOf(req.New)
	class, idMismatch := ownership.Classify(have, release.Metadata)
	before, _ := ownership.Classify(metadataOf(req.Old), release.Metadata)
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

// contested is the warning that names the bundles, with the releases of bundles that have the same name.
func contested(k object.Key, candidates []desired.Release) Warning {
	candidates = slices.CompactFunc(candidates, sameRelease)
	names := make([]string, len(candidates))
	for i, r := range candidates {
		names[i] = "bundle " + r.Bundle
		if slices.ContainsFunc(candidates, func(other desired.Release) bool {
			return other.Bundle == r.Bundle && !sameRelease(other, r)
		}) {
			names[i] += " (release " + r.Release() + ")"
		}
	}
	return Warning{WarnContested, fmt.Sprintf("%s is desired by %s, and its metadata does not identify one of them as "+
		"the owner: its ownership metadata is not changed", k, strings.Join(names, " and by "))}
}

// tooLarge reports whether the keys would make annotations exceed the limit of the API server.
func tooLarge(annotations, set map[string]string) bool {
	after := map[string]string{}
	maps.Copy(after, annotations)
	for _, k := range ownership.Keys() {
		if v, ok := set[k.Name]; ok && !k.Label {
			after[k.Name] = v
		}
	}
	fits := apivalidation.ValidateAnnotationsSize
	return fits(annotations) == nil && fits(after) != nil
}
