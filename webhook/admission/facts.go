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
	// Complete is true if all release records of the cluster were read.
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
		Complete: o.Index.Complete(), Live: o.Live(""), LiveIn: map[string]bool{}, Trusted: map[string]bool{},
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

// RecordsLabel with the value RecordsTrusted on a namespace trusts its release records for the objects of all
// namespaces.
const (
	RecordsLabel   = "fleetdoctor.io/records"
	RecordsTrusted = "trusted"
)

func (o Options) trusts(namespace string) bool {
	return fleet.IsSystemNamespace(namespace) || o.Namespaces.Labels(namespace)[RecordsLabel] == RecordsTrusted
}

// confirmed reports whether a release may get an object, or be the reason for a denial. A record alone is no evidence:
// a user who may only create Secrets in one namespace can write a record that claims any object of the cluster, and any
// set. One of these confirms it:
//   - The record is in the namespace of the object.
//   - The object names the release in its Helm annotations, which only a user who may write the object can set. have
//     are the metadata that count. Helm writes the annotations to all objects, wherever the record is.
//   - The record is in a namespace that an administrator trusts, or in one of Fleet's: who may write Secrets there
//     controls the agent.
//
// A record that is not confirmed still counts as another owner that may exist.
func (f Facts) confirmed(r desired.Release, object object.Key, have ...ownership.Metadata) bool {
	return r.Namespace == object.Namespace || f.Trusted[r.Namespace] ||
		slices.ContainsFunc(have, func(m ownership.Metadata) bool { return m.Release() == r.Release() })
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
	case f.SetsRead():
		return ownership.Absent
	}
	return ownership.NotDecided
}

// SetsRead implements ownership.Facts.
func (f Facts) SetsRead() bool { return f.Live && f.Complete }

// ignored reports whether the webhook ignores an object: because of a label, or because the request is of adopt or its
// undo, which change ownership metadata on purpose.
func (f Facts) ignored(req Request, m *object.Meta) bool {
	labelled := f.NamespaceLabels[IgnoreLabel] == "true" || m.Metadata.Labels[IgnoreLabel] == "true"
	return labelled || req.Manager == ownership.FieldManager
}
