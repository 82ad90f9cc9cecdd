// SPDX-License-Identifier: Apache-2.0

// Package ownership answers who owns an object: from its ownership metadata, from the ownership metadata that a bundle desires, and from
// Facts about the cluster. Classify compares the metadata, Evaluate finds the other owners, Result.Decide applies a policy, and Choose selects
// one of several bundles that desire an object. The package is pure.
//
// Fleet's agent looks at the hash label alone; Helm looks at its own label and annotations alone.
package ownership

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// Class is how the ownership metadata of an object compares with the desired one. The values other than Owned are reasons of the state Unowned
// in the report.
type Class string

// The classes.
const (
	// Owned: the hash is the desired one.
	Owned Class = ""
	// Unmarked: no hash, no id, and no Helm release.
	Unmarked Class = "Unmarked"
	// HelmOnly: the Helm annotations name the bundle's release, and there is neither id nor hash, as helm.takeOwnership leaves it.
	HelmOnly Class = "HelmOnly"
	// HashStripped: the id is the desired one, and there is no hash.
	HashStripped Class = "HashStripped"
	// ForeignOwner: the hash or the id of another set, or the Helm annotations of another release.
	ForeignOwner Class = "ForeignOwner"
	// Inconsistent: the id is the desired one, and the hash is of another set.
	Inconsistent Class = "Inconsistent"
)

// Classify compares the ownership metadata of an object with the desired one. idMismatch says that an owned object has another id, or none;
// Fleet ignores that.
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
		return Unmarked, false // charts write managed-by themselves; it names no owner
	case have.Release() == desired.Release():
		return HelmOnly, false
	}
	return ForeignOwner, false
}

// foreignProgram says whether a set belongs to Fleet itself, or to another program that uses the same label, as Rancher and K3s do. Such a set
// has no release record that could show whether it still exists.
func foreignProgram(setID string) bool {
	return setID != "" && (fleet.IsFleetsOwnSet(setID) || !fleet.IsBundleSet(setID))
}
