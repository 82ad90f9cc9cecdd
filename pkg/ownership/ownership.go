// SPDX-License-Identifier: Apache-2.0

// Package ownership finds the owner of an object from the ownership metadata of the object, the ownership metadata that
// bundles desire, and Facts about the cluster. Classify compares metadata, Evaluate finds owners, Result.Decide applies
// a policy, Owner.Lost finds the metadata that an update removes, and Choose selects one of several bundles that desire
// an object. The package is pure.
//
// Fleet's agent reads only the hash label. Helm reads only its own label and annotations.
package ownership

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// Class is the result of a comparison of an object's ownership metadata with the desired metadata. The values other
// than Owned are reasons of the state Unowned in the report.
type Class string

// The classes.
const (
	// Owned: the hash is the desired one.
	Owned Class = ""
	// Unmarked: no hash, no id, and no Helm release.
	Unmarked Class = "Unmarked"
	// HelmOnly: the Helm annotations name the bundle's release, and neither id nor hash is set. The option
	// helm.takeOwnership has this effect.
	HelmOnly Class = "HelmOnly"
	// HashStripped: the id is the desired one, and no hash is set.
	HashStripped Class = "HashStripped"
	// ForeignOwner: the hash or the id of another set, or the Helm annotations of another release.
	ForeignOwner Class = "ForeignOwner"
	// Inconsistent: the id is the desired one, and the hash is of another set.
	Inconsistent Class = "Inconsistent"
)

// Classify compares the ownership metadata of an object with the desired metadata. idMismatch is true if an owned
// object has another id, or none. Fleet ignores that.
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
		return Unmarked, false // managed-by names no owner: charts write it too
	case have.Release() == desired.Release():
		return HelmOnly, false
	}
	return ForeignOwner, false
}

// foreignProgram reports whether a set is of Fleet itself, or of another program that uses the same label, as Rancher
// and K3s do. Such a set has no release record, so it is not known whether the set still exists.
func foreignProgram(setID string) bool {
	return setID != "" && (fleet.IsFleetsOwnSet(setID) || !fleet.IsBundleSet(setID))
}
