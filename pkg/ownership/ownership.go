// SPDX-License-Identifier: Apache-2.0

// Package ownership is the one answer to "whose is this object": its marks, what they say beside the marks that a bundle wants, and the
// smallest change that would claim it. It is pure. The verdict is one of:
//
//	Owned          the bundle's hash is there; the id may still differ (IDMismatch)
//	Unmarked       no mark at all
//	HelmOnly       Helm's marks of this release, neither id nor hash: what helm.takeOwnership leaves behind
//	HashStripped   this set's id, and no hash
//	ForeignOwner   another set's hash or id, or Helm's marks of another release
//	Inconsistent   this set's id with a hash that is not its own
//
// Source: Fleet's facts, ownership 1.3 and 1.7: the hash alone decides for Fleet; Helm's marks count for Helm.
package ownership

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// Metadata are the five marks of an object. An empty string means that the mark is not there.
type Metadata struct {
	Hash, SetID, ManagedBy, ReleaseName, ReleaseNamespace string
}

// MetadataOf reads the marks of an object.
func MetadataOf(labels, annotations map[string]string) Metadata {
	return Metadata{ // by hand and not by Keys: it is read of every live object
		Hash:             labels[fleet.HashLabel],
		SetID:            annotations[fleet.IDAnnotation],
		ManagedBy:        labels[fleet.ManagedByLabel],
		ReleaseName:      annotations[fleet.ReleaseNameAnnotation],
		ReleaseNamespace: annotations[fleet.ReleaseNamespaceAnnotation],
	}
}

// Desired returns the marks that Fleet and Helm write for a set and a release.
func Desired(setID, releaseName, releaseNamespace string) Metadata {
	return Metadata{Hash: fleet.Hash(setID), SetID: setID, ManagedBy: fleet.ManagedByHelm,
		ReleaseName: releaseName, ReleaseNamespace: releaseNamespace}
}

// Release returns "namespace/name" of the release that Helm's marks name, "" where they name none.
func (m Metadata) Release() string {
	if m.ReleaseName == "" {
		return ""
	}
	return m.ReleaseNamespace + "/" + m.ReleaseName
}

// Reason is why an object is not owned. The values are reasons of the state Unowned in the report.
type Reason string

// The reasons; Owned is the zero value.
const (
	Owned        Reason = ""
	Unmarked     Reason = "Unmarked"
	HelmOnly     Reason = "HelmOnly"
	HashStripped Reason = "HashStripped"
	ForeignOwner Reason = "ForeignOwner"
	Inconsistent Reason = "Inconsistent"
)

// Verdict is whose an object is, seen from one bundle.
type Verdict struct {
	Reason Reason
	// IDMismatch says that an owned object carries another id, or none. Fleet does not mind.
	IDMismatch bool
}

// Classify holds an object's marks against the wanted ones.
func Classify(have, want Metadata) Verdict {
	switch {
	case have.Hash == want.Hash:
		return Verdict{IDMismatch: have.SetID != want.SetID}
	case have.SetID == want.SetID && have.Hash == "":
		return Verdict{Reason: HashStripped}
	case have.SetID == want.SetID:
		return Verdict{Reason: Inconsistent}
	case have.Hash != "" || have.SetID != "":
		return Verdict{Reason: ForeignOwner}
	case have.ReleaseName == "" && have.ReleaseNamespace == "":
		return Verdict{Reason: Unmarked} // managed-by alone names nobody: charts write it themselves
	case have.Release() == want.Release():
		return Verdict{Reason: HelmOnly}
	}
	return Verdict{Reason: ForeignOwner}
}

// ForeignProgram says whether a set is none of a bundle's: one of Fleet's own, or one of another program that uses the same marks, as
// Rancher and K3s do for what they apply. Their release records are nowhere, so that nothing proves them gone.
func ForeignProgram(setID string) bool {
	return setID != "" && (fleet.IsFleetsOwnSet(setID) || !fleet.IsBundleSet(setID))
}

// OwnedSet says whether the set that an object's annotations name has an owner of its own, as those that controllers apply do. A bundle's
// has none.
func OwnedSet(annotations map[string]string) bool {
	return annotations[fleet.OwnerGVKAnnotation]+annotations[fleet.OwnerNameAnnotation]+annotations[fleet.OwnerNamespaceAnnotation] != ""
}
