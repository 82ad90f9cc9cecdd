// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"

// KindOwnership is the kind of an Ownership.
const KindOwnership = "OwnerReport"

// Ownership reports the owners of objects, with the evidence.
type Ownership struct {
	Head
	Objects []OwnedObject `json:"objects"`
	Gaps    []Gap         `json:"gaps"`
}

// OwnerResult is the result for the owner of an object.
type OwnerResult string

// The results.
const (
	OwnerOwned      OwnerResult = "Owned"      // Fleet counts it as an object of a bundle deployment that desires it
	OwnerNotDesired OwnerResult = "NotDesired" // it has the hash of a bundle deployment that does not desire it
	// several bundle deployments share its set, and its Helm annotations name none of their releases
	OwnerSharedSet OwnerResult = "SharedSet"
	OwnerSystemSet OwnerResult = "SystemSet" // Fleet itself or another program applies its set, not a bundle
	// its set is not known, and not every release record could be read, or nothing confirms the record that has it
	OwnerUnknownSet  OwnerResult = "UnknownSet"
	OwnerLostSet     OwnerResult = "LostSet"     // no release on the cluster has its set
	OwnerNotOwned    OwnerResult = "NotOwned"    // a bundle deployment desires it, and it has no hash
	OwnerHelmRelease OwnerResult = "HelmRelease" // no bundle desires it, and its Helm annotations name a release
	OwnerNone        OwnerResult = "NoOwner"     // no bundle desires it, and it names no owner
	OwnerUnknown     OwnerResult = "Unknown"     // no owner is known, and it is not known whether a bundle desires it
)

// OwnedObject is one object with its ownership metadata.
type OwnedObject struct {
	object.Ref
	UID    string      `json:"uid,omitempty"`
	Result OwnerResult `json:"result"`
	// Verdict is the answer as a sentence without its first capital and its full stop.
	Verdict string `json:"verdict"`
	// Next is the next step; absent if there is none.
	Next *NextStep `json:"next,omitempty"`
	// Unknown is the reason if it is not known which bundle desires the object; otherwise absent.
	Unknown string `json:"unknown,omitempty"`
	// Owner is the bundle that owns the object; absent if no bundle owns it.
	Owner *BundleOwner `json:"holder,omitempty"`
	// DesiredBy are the bundles that desire the object.
	DesiredBy []Claimant      `json:"desiredBy,omitempty"`
	Metadata  []MetadataEntry `json:"marks"`
	// Controller is "Kind name" of the object that controls it.
	Controller string `json:"controller,omitempty"`
}

// NextStep is a command of this program, with its verb.
type NextStep struct {
	Verb string `json:"verb"`
	Remedy
}

// BundleOwner is the bundle deployment that owns an object, with its parents.
type BundleOwner struct {
	BundleDeployment string `json:"bundleDeployment"`
	Bundle           string `json:"bundle,omitempty"`  // "namespace/name"
	GitRepo          string `json:"gitRepo,omitempty"` // "namespace/name"
	HelmOp           string `json:"helmOp,omitempty"`  // "namespace/name"
	Cluster          string `json:"cluster,omitempty"` // "namespace/name"
	Release          string `json:"release,omitempty"` // "namespace/name:revision"
	SetID            string `json:"setID,omitempty"`
	Commit           string `json:"commit,omitempty"`
}

// Claimant is a bundle that desires an object.
type Claimant struct {
	BundleDeployment string `json:"bundleDeployment"`
	// Reason is the reason of the state Unowned, or Unconfirmed; empty if the bundle owns the object.
	Reason string `json:"reason,omitempty"`
}

// MetadataEntry is one label or annotation about the owner of an object, with its meaning.
type MetadataEntry struct {
	Field string `json:"field"` // label or annotation
	Key   string `json:"key"`
	Value string `json:"value"`
	Means string `json:"means"`
	// Who is the writer and the time, if they are recorded.
	Who string `json:"who,omitempty"`
}

// Complete makes lists that are nil empty. Call it once, after all objects were added.
func (o *Ownership) Complete() { complete(o) }
