// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Facts describe the object of a request. They are looked up before the decision.
type Facts struct {
	// Releases desire the object and can own it: of each the one or two revisions that count, the newest first.
	Releases []desired.Release
	// WithSet has the releases with the set of the new object, by its hash and by the hash of its id.
	WithSet map[string][]desired.Release
	// Exists is true for a Helm release that has a record. It has the releases that the annotations of the new and of
	// the stored object name.
	Exists map[string]bool
	// Complete is true if all release records of the cluster were read that may have the set of the object.
	Complete bool
	// Live is true if changes are received as they happen and are read. LiveIn has the same for the namespaces of
	// Releases.
	Live   bool
	LiveIn map[string]bool
	// Trusted is true for the namespaces of Releases whose records an administrator trusts.
	Trusted map[string]bool
	// NamespaceLabels are the labels of the object's namespace that begin with fleetdoctor.io/.
	NamespaceLabels map[string]string
	// GuardDefault is the mode of an object for which no label states one.
	GuardDefault GuardMode
	// Rechecked is true if the request has waited for records already.
	Rechecked bool
}

// facts looks up the facts for a request about an object that some releases desire.
func (o Options) facts(req Request, releases []desired.Release, rechecked bool) Facts {
	releases = slices.DeleteFunc(releases, func(r desired.Release) bool {
		return r.Metadata.Hash == "" || fleet.IsAgentBundle(r.Bundle) // an agent maintains its own objects
	})
	out := Facts{Releases: releases, WithSet: map[string][]desired.Release{}, Exists: map[string]bool{},
		Complete: o.complete(req.Key), Live: o.Live(""), LiveIn: map[string]bool{}, Trusted: map[string]bool{},
		NamespaceLabels: o.Namespaces.Labels(req.Key.Namespace), GuardDefault: o.GuardDefault, Rechecked: rechecked}
	for _, r := range releases {
		out.LiveIn[r.Namespace] = o.Live(r.Namespace)
		out.Trusted[r.Namespace] = o.trusts(r.Namespace)
	}
	have, had := metadataOf(req.New), metadataOf(req.Old)
	for _, hash := range []string{have.Hash, fleet.Hash(have.SetID)} {
		out.WithSet[hash] = o.Index.BySet(hash)
	}
	for _, name := range []string{have.Release(), had.Release()} {
		out.Exists[name] = o.Index.HasRelease(name)
	}
	return out
}

// complete reports whether all release records were read that may have the set of an object. One that could not be read
// counts only for the objects of its namespace, unless it is trusted: otherwise a user who may write Secrets in one
// namespace could stop the decisions about all others.
func (o Options) complete(k object.Key) bool {
	unreadable, all := o.Index.Unreadable()
	return all && !slices.ContainsFunc(unreadable, func(namespace string) bool {
		return namespace == k.Namespace || o.trusts(namespace)
	})
}

// trusts reports whether the release records of a namespace are trusted.
func (o Options) trusts(namespace string) bool {
	return ownership.TrustsRecords(namespace, o.Namespaces.Labels(ownership.TrustNamespace))
}

// confirmed reports whether a release may get an object, or be the reason for a denial. have are the metadata of the
// object that count.
func (f Facts) confirmed(r desired.Release, object object.Key, have ...ownership.Metadata) bool {
	e := ownership.Evidence{Namespace: r.Namespace, Release: r.Release(), Trusted: f.Trusted[r.Namespace]}
	for _, m := range have {
		e.Add(object, m)
	}
	return e.Confirms(object)
}

// sameRelease reports whether two revisions are of one release.
func sameRelease(a, b desired.Release) bool { return a.Release() == b.Release() }

// asOwner converts a release for package ownership.
func asOwner(r desired.Release) ownership.Bundle {
	return ownership.Bundle{Bundle: r.Bundle, Release: r.Release(), Desired: r.Metadata}
}

func asOwners(releases []desired.Release) []ownership.Bundle {
	out := make([]ownership.Bundle, len(releases))
	for i, r := range releases {
		out[i] = asOwner(r)
	}
	return out
}

// BundlesOf implements ownership.Facts.
func (f Facts) BundlesOf(hash string) []ownership.Bundle { return asOwners(f.WithSet[hash]) }

// Release implements ownership.Facts.
func (f Facts) Release(name string, bundle ownership.Bundle) ownership.Existence {
	switch {
	case name == bundle.Release:
		return ownership.Own
	case f.Exists[name]:
		return ownership.Exists
	case f.Live && f.Complete:
		return ownership.Absent
	}
	return ownership.NotDecided
}

// SetsKnown implements ownership.Facts. The facts are those of one object.
func (f Facts) SetsKnown(object.Key) bool { return f.Live && f.Complete }

// ignored reports whether the webhook ignores an object: because of a label, or because the request is of adopt or its
// undo, which change ownership metadata on purpose.
func (f Facts) ignored(req Request, m *object.Meta) bool {
	labelled := f.NamespaceLabels[IgnoreLabel] == "true" || m.Metadata.Labels[IgnoreLabel] == "true"
	return labelled || req.Manager == ownership.FieldManager
}
