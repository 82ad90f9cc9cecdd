// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// staleMessage is the warning for a request that would be denied. The webhook may not know yet that Fleet makes the
// request.
const staleMessage = "the request would be denied, but the webhook does not receive changes from the API server at " +
	"present, or has not read all of them"

// decideValidation is the decision of the validating handler, in the guard mode of the object.
func decideValidation(req Request, f Facts) Decision {
	v := validate(req, f)
	d := Decision{action: Passed, reason: v.reason, release: v.owner()}
	if v.harm == nil {
		return d
	}
	d.harm = v.harm
	labels := f.NamespaceLabels
	if req.Key.Namespace == "" {
		labels = req.Old.Metadata.Labels // as stored: a request cannot switch off the guard for itself
	}
	mode, notes := GuardModeOf(labels, f.GuardDefault)
	d.recheck = mode == GuardDeny // also while the facts are stale: the watch may be open again after the wait
	switch {
	case mode == GuardOff:
		return d
	case mode == GuardDeny && !v.live(f):
		notes = append(notes, Warning{WarnStale, staleMessage})
	case mode == GuardDeny && v.doubt != "":
		notes = append(notes, Warning{WarnOwnerInDoubt, "the request would be denied, but " + v.doubt})
	case mode == GuardDeny:
		d.action, d.denial, d.warnings = Denied, &DenialError{v.harm}, notes
		return d
	}
	d.action, d.warnings = Warned, append([]Warning{{WarningCode(v.reason), v.harm.Error()}}, notes...)
	return d
}

// validation is the effect of a request on an object that a release owns.
type validation struct {
	reason Reason
	// releases own the object, the newest revision of each; more than one if the object's metadata does not identify
	// the owner.
	releases []desired.Release
	// mayBeFleet is true if a record that is not read yet may show that Fleet makes the request: Fleet uses only
	// service accounts.
	mayBeFleet bool
	// harm is nil if the request does no harm.
	harm *HarmError
	// doubt explains why another release may own the object, so that a denial may affect Fleet itself; empty for no
	// doubt.
	doubt string
}

// validate finds the owner of an object, and the harm that a request does to the object. req.Old is not nil.
func validate(req Request, f Facts) validation {
	refusal, releases := ownerOf(req, f)
	if len(releases) == 0 {
		return validation{reason: NotOwned}
	}
	v := validation{releases: releases, mayBeFleet: strings.HasPrefix(req.User, serviceAccountPrefix)}
	v.doubt = v.findDoubt(refusal.Have, req, f)
	harm := &HarmError{RefusalError: refusal, bundles: bundleNames(releases)}
	if v.doubt == "" {
		harm.count = predictedCount(releases, refusal.Have.Release(), f)
	}
	switch {
	case f.ignored(req, req.Old):
		v.reason = Ignored
	case isSystem(req.User, req.Key):
		v.reason = System
	case !v.any(func(r desired.Release) bool { return !isFleet(r, req.User) }):
		v.reason = Fleet
	case req.Old.Metadata.DeletionTimestamp != "":
		v.reason = Deleting
	case req.New == nil:
		v.reason, v.harm = Deleted, harm
	default:
		harm.Lost = refusal.Owners[0].Lost(refusal.Have, metadataOf(req.New))
		if v.reason = harm.reason(); v.reason != Harmless {
			v.harm = harm
		}
	}
	return v
}

// any reports whether one of the owners fulfils a condition.
func (v validation) any(condition func(desired.Release) bool) bool {
	return slices.ContainsFunc(v.releases, condition)
}

// desiring are the facts about the releases that desire the object. Other releases with the same set cannot own it.
type desiring struct{ Facts }

// BundlesOf implements ownership.Facts.
func (f desiring) BundlesOf(hash string) []ownership.Bundle {
	return slices.DeleteFunc(asOwners(f.Releases), func(b ownership.Bundle) bool { return b.Desired.Hash != hash })
}

// ownerOf finds the owner of the stored object: the releases that desire the object and have its hash. If the Helm
// annotations name one of them, it is that release alone: a user who may write records can state any hash, but not a
// release in another namespace.
func ownerOf(req Request, f Facts) (*ownership.RefusalError, []desired.Release) {
	claim := ownership.Claim{Object: req.Key, Have: metadataOf(req.Old)}
	situation, err := ownership.Evaluate(desiring{f}, claim).Decide(ownership.IfUnowned, nil)
	refusal, ok := errors.AsType[*ownership.RefusalError](err)
	if !ok || situation != ownership.KnownHash {
		return nil, nil
	}
	owners := sets.New(refusal.Owners[0].Bundles...)
	releases := slices.DeleteFunc(slices.Clone(f.Releases), func(r desired.Release) bool {
		return !owners.Has(asOwner(r))
	})
	return refusal, slices.CompactFunc(releases, sameRelease)
}

// live reports whether enough is known about the releases that may own an object. A record that is not read yet can
// only show that a service account is Fleet's. For all other users it is enough that the records of one release are all
// read: so a user cannot avoid a denial with records that claim the object and wait to be read.
func (v validation) live(f Facts) bool {
	if v.mayBeFleet {
		return !v.any(func(r desired.Release) bool { return !f.LiveIn[r.Namespace] })
	}
	return v.any(func(r desired.Release) bool { return f.LiveIn[r.Namespace] })
}

// findDoubt compares the owner with the release that the Helm annotations name. If only the hash connects the owner
// with the object, the record of the real owner may be missing, or be one of several.
func (v validation) findDoubt(have ownership.Metadata, req Request, f Facts) string {
	named := have.Release()
	switch {
	case named != "" && named != v.releases[0].Release():
		return "its Helm annotations name release " + named + ", which is not known to own it"
	case !v.any(func(r desired.Release) bool { return f.confirmed(r, req.Key, have) }):
		return fmt.Sprintf("it has no Helm annotations, and only release records of other namespaces state its set; %s",
			ownership.TrustAdvice(v.releases[0].Namespace))
	case named == "" && v.mayBeFleet && !f.Complete:
		return "it has no Helm annotations, and not all release records are known"
	case len(v.releases) > 1 && v.any(func(r desired.Release) bool { return isFleet(r, req.User) }):
		return "several releases state its set, its Helm annotations name none of them, " +
			"and Fleet makes the request for one of them"
	}
	return ""
}

// owner returns the release that owns the object; the zero value if none does. Of several releases it returns only the
// bundle, if all have the same.
func (v validation) owner() desired.Release {
	if len(v.releases) == 0 {
		return desired.Release{}
	}
	first := v.releases[0]
	switch {
	case len(v.releases) == 1:
		return first
	case v.any(func(r desired.Release) bool { return r.Bundle != first.Bundle }):
		return desired.Release{}
	}
	return desired.Release{Bundle: first.Bundle}
}

// maxNamed bounds the bundles that a message names: a user who may write records can claim an object under many names.
const maxNamed = 3

// bundleNames names the bundles of the releases.
func bundleNames(releases []desired.Release) string {
	var names []string
	for _, r := range releases {
		if slices.Contains(names, r.Bundle) {
			continue
		}
		if len(names) == maxNamed {
			names = append(names, "another")
			break
		}
		names = append(names, r.Bundle)
	}
	return strings.Join(names, " or ")
}

// predictedCount predicts the count of objects that Fleet will report for the bundle. It is an upper bound, because a
// record does not state which other objects are missing or modified already. It is empty if another release may own the
// object.
func predictedCount(releases []desired.Release, named string, f Facts) string {
	r := releases[0]
	alone := len(releases) == 1 && named == "" && f.Complete
	if named != r.Release() && !alone {
		return ""
	}
	return fmt.Sprintf(", and %s will be at most %d/%d", r.Bundle, r.Objects-1, r.Objects)
}
