// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
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
	set map[string]string
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
	chosen, ok := ownership.Choose(asOwners(candidates), have, had)
	if !ok {
		return mutation{reason: Contested, warnings: contested(req.Key, candidates)}
	}
	release := candidates[chosen]
	m := mutation{release: release, reason: mutationReason(release, req, have, had, exact)}
	if m.reason == Owned {
		return m
	}
	claim := ownership.Claim{Object: req.Key, Have: have, Bundle: asOwner(release), BySet: m.reason.bySetOnly(release, have, had)}
	if m.reason == Restored {
		// Only the hash says that the object is the release's, and any record can state a hash. The request removes Helm
		// annotations, which may name another release.
		claim.Before = had
	}
	owners := ownership.Evaluate(f, claim)
	if _, err := owners.Decide(ownership.IfUnowned, nil); err != nil {
		m.reason = Foreign
		m.warnings = []Warning{{WarnForeign, fmt.Sprintf("%v, and bundle %s desires it: its ownership metadata is not changed", err, release.Bundle)}}
		return m
	}
	if !m.reason.stamps() {
		return m
	}
	m.set = map[string]string{}
	for _, c := range owners.Patch() {
		if c.New != nil {
			m.set[c.Name] = *c.New
		}
	}
	m.overUnknown = len(owners.Owners) > 0
	m.lost = req.Old != nil && (had.Hash != release.Metadata.Hash || had.SetID != release.Metadata.SetID)
	if tooLarge(req.New, m.set) {
		return mutation{release: release, reason: TooLarge, warnings: []Warning{{WarnTooLarge,
			fmt.Sprintf("%s is desired by bundle %s, and its annotations leave no space for the ownership metadata", req.Key, release.Bundle)}}}
	}
	return m
}

// mutationReason says whether an object gets the metadata of a release, if nobody else owns it.
func mutationReason(release desired.Release, req Request, have, had ownership.Metadata, exact bool) Reason {
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
func (r Reason) bySetOnly(release desired.Release, have, had ownership.Metadata) bool {
	name := release.Metadata.Release()
	return (r == Adopted || r == Restored) && have.Release() != name && had.Release() != name
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

// tooLarge says whether the keys would take an object's annotations over the limit of the API server.
func tooLarge(m *object.Meta, set map[string]string) bool {
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
