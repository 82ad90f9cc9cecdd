// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// KindImpact is the kind of an Impact.
const KindImpact = "ImpactReport"

// Impact reports what is removed if objects of Fleet are deleted.
type Impact struct {
	Head
	Deletions []Deletion `json:"deletions"`
	Gaps      []Gap      `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// Deletion is what the deletion of one of Fleet's objects removes.
type Deletion struct {
	Kind      string          `json:"kind"` // GitRepo, HelmOp, Bundle, BundleDeployment or Cluster
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name"`
	Summary   DeletionSummary `json:"summary"`
	// Unread says which objects of Fleet could not be read that may be deleted too; empty if all were read. Then the
	// deletion may remove more than is listed.
	Unread string `json:"unread,omitempty"`
	// Namespaces are those that are deleted on the management cluster, with everything in them.
	Namespaces []DeletedNamespace `json:"namespaces,omitempty"`
	Clusters   []ClusterImpact    `json:"clusters"`
	// Notes describe what else the deletion does, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// DeletionSummary counts the clusters by result, and everything that is lost on those that could be evaluated.
type DeletionSummary struct {
	// Bundles and BundleDeployments are Fleet's own objects that are deleted.
	Bundles           int `json:"bundles"`
	BundleDeployments int `json:"bundleDeployments"`
	Clusters          int `json:"clusters"`
	// Removing are the clusters on which objects are removed or may be removed. Unknown are those on which that is not
	// known for every release.
	Removing int `json:"removing"`
	Unknown  int `json:"unknown"`
	Losses
}

// Losses count objects that are lost or kept.
type Losses struct {
	// Removed are objects that are deleted, without custom resources that no release has, and without other objects in
	// deleted Namespaces.
	Removed int `json:"removed"`
	// CustomResourceDefinitions, PersistentVolumeClaims and Namespaces are among Removed.
	CustomResourceDefinitions int `json:"customResourceDefinitions"`
	PersistentVolumeClaims    int `json:"persistentVolumeClaims"`
	Namespaces                int `json:"namespaces"`
	// CustomResources are all objects of the deleted CustomResourceDefinitions. Uncounted are the definitions whose
	// objects could not be counted.
	CustomResources int `json:"customResources"`
	Uncounted       int `json:"uncounted"`
	// DeletedVolumes are claims whose volume is deleted with its data. UnknownVolumes are those whose reclaim policy is
	// not known.
	DeletedVolumes int `json:"deletedVolumes"`
	UnknownVolumes int `json:"unknownVolumes"`
	// Kept are objects of the releases that stay, as far as they are known.
	Kept int `json:"kept"`
}

// DeletedNamespace is a Namespace of the management cluster that is deleted.
type DeletedNamespace struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Absent is true if it does not exist.
	Absent bool `json:"absent,omitempty"`
	// PersistentVolumeClaims are those in it that no deleted release has.
	PersistentVolumeClaims []RemovedObject `json:"persistentVolumeClaims,omitempty"`
	// BundleDeployments are others that have objects in it.
	BundleDeployments []string `json:"bundleDeployments,omitempty"`
}

// ImpactResult is what happens to the objects of a release, BundleDeployment or cluster.
type ImpactResult string

// The results.
const (
	ImpactRemoves   ImpactResult = "Removes"
	ImpactMayRemove ImpactResult = "MayRemove" // it depends on what the agent sees first
	ImpactKeeps     ImpactResult = "Keeps"     // all objects stay
	ImpactNothing   ImpactResult = "Nothing"   // nothing is installed
	ImpactUnknown   ImpactResult = "Unknown"
)

// ClusterImpact is what is removed on one cluster.
type ClusterImpact struct {
	// Cluster is "namespace/name" of the Cluster; empty for the cluster that was read, if it is not known which one it
	// is.
	Cluster string       `json:"cluster"`
	Result  ImpactResult `json:"result"`
	Losses
	BundleDeployments []DeploymentImpact `json:"bundleDeployments"`
}

// DeploymentImpact is what is removed with one BundleDeployment.
type DeploymentImpact struct {
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	Bundle    string       `json:"bundle,omitempty"` // "namespace/name"
	Result    ImpactResult `json:"result"`
	// Reason is a word, Message a sentence.
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message"`
	Releases []ReleaseImpact `json:"releases,omitempty"`
	// Reported is what the status lists, if the result is Unknown.
	Reported *ReportedObjects `json:"reported,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
}

// ReportedObjects are the objects that the status of a BundleDeployment lists.
type ReportedObjects struct {
	// Desired is the number of objects that the status counts; absent if it has no counts.
	Desired *int `json:"desired,omitempty"`
	// Objects is the number of entries of its list; Listed are those of kinds whose deletion loses more than the
	// object.
	Objects   int          `json:"objects"`
	Listed    []object.Ref `json:"listed,omitempty"`
	Truncated bool         `json:"truncated"`
}

// ReleaseImpact is what is removed with one Helm release.
type ReleaseImpact struct {
	Release string       `json:"release"` // "namespace/name:revision"
	Result  ImpactResult `json:"result"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message"`
	// When is AtOnce or GarbageCollection, if objects are removed.
	When    string          `json:"when,omitempty"`
	Removed []RemovedObject `json:"removed,omitempty"`
	Kept    []KeptObject    `json:"kept,omitempty"`
	// Absent are objects of the release that no longer exist.
	Absent []object.Ref `json:"absent,omitempty"`
	// Hooks are those that run, and those whose objects stay.
	Hooks []HookImpact `json:"hooks,omitempty"`
	Notes []string     `json:"notes,omitempty"`
}

// RemovalCause is why an object is removed.
type RemovalCause string

// The causes.
const (
	CauseManifest   RemovalCause = "Manifest"   // Helm deletes it by its name
	CauseDefinition RemovalCause = "Definition" // its CustomResourceDefinition is deleted
	CauseNamespace  RemovalCause = "Namespace"  // its Namespace is deleted
	CauseOwner      RemovalCause = "StatefulSet"
	CauseCopies     RemovalCause = "DownstreamResources" // the agent deletes the copies of downstreamResources
)

// RemovedObject is an object that is deleted.
type RemovedObject struct {
	object.Ref
	Cause RemovalCause `json:"cause"`
	// By is the name of the object whose deletion deletes it.
	By string `json:"by,omitempty"`
	// CustomResources is the number of objects of a CustomResourceDefinition; absent if it is not known, and for other
	// kinds.
	CustomResources *int `json:"customResources,omitempty"`
	// Volume is the PersistentVolume of a claim.
	Volume *RemovedVolume `json:"volume,omitempty"`
	// DesiredBy are other bundle deployments that desire the object. OwnedBy is the other release that its annotations
	// name.
	DesiredBy []string `json:"desiredBy,omitempty"`
	OwnedBy   string   `json:"ownedBy,omitempty"`
	// Affects are other bundle deployments that lose objects with a Namespace or CustomResourceDefinition.
	Affects []string `json:"affects,omitempty"`
}

// RemovedVolume is the volume of a PersistentVolumeClaim that is deleted.
type RemovedVolume struct {
	Name string `json:"name,omitempty"`
	// ReclaimPolicy is Delete (the data is gone), Retain, or empty if it is not known.
	ReclaimPolicy string `json:"reclaimPolicy,omitempty"`
}

// KeptObject is an object of a release that stays.
type KeptObject struct {
	object.Ref
	// Reason is ResourcePolicy, Hook, KeepResources, ClaimTemplate (it is made from a template of a StatefulSet) or
	// Namespace (it is the namespace of the release).
	Reason string `json:"reason"`
}

// HookImpact is a hook of a release.
type HookImpact struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Runs are the events of the uninstall on which it runs. Stays is true if its object is not deleted, in case it
	// exists.
	Runs  []string `json:"runs,omitempty"`
	Stays bool     `json:"stays"`
}

// Complete sets the fields that follow from the others. Call it once, after all deletions were added.
func (d *Impact) Complete() {
	complete(d)
	for i := range d.Deletions {
		d.Deletions[i].complete()
	}
}

func (d *Deletion) complete() {
	s := &d.Summary
	s.Clusters = len(d.Clusters)
	for _, ns := range d.Namespaces {
		if d.Kind != state.ClusterKind && !ns.Absent { // that of a Cluster has only objects of Fleet
			s.add(RemovedObject{Ref: object.Ref{APIVersion: "v1", Kind: "Namespace"}})
			s.add(ns.PersistentVolumeClaims...)
		}
	}
	for i := range d.Clusters {
		c := &d.Clusters[i]
		c.complete(&s.Losses)
		if c.Removed > 0 {
			s.Removing++
		}
		if c.unknown() {
			s.Unknown++
		}
		s.BundleDeployments += len(c.BundleDeployments)
	}
}

func (c *ClusterImpact) unknown() bool {
	return slices.ContainsFunc(c.BundleDeployments, func(d DeploymentImpact) bool {
		unknown := func(r ReleaseImpact) bool { return r.Result == ImpactUnknown }
		return d.Result == ImpactUnknown || slices.ContainsFunc(d.Releases, unknown)
	})
}

// complete sets the result and the losses, and adds the losses to those of the deletion.
func (c *ClusterImpact) complete(all *Losses) {
	results := map[ImpactResult]bool{}
	for _, d := range c.BundleDeployments {
		results[d.Result] = true
		for _, r := range d.Releases {
			for _, l := range []*Losses{&c.Losses, all} {
				l.add(r.Removed...)
				l.Kept += countBy(r.Kept, func(k KeptObject) bool { return k.Reason != KeptNamespace })[true]
			}
		}
	}
	c.Result = ImpactNothing
	for _, r := range []ImpactResult{ImpactRemoves, ImpactMayRemove, ImpactUnknown, ImpactKeeps} {
		if results[r] {
			c.Result = r
			break
		}
	}
}

// add counts objects that are removed.
func (l *Losses) add(removed ...RemovedObject) {
	l.Removed += len(removed)
	for _, o := range removed {
		core := object.Group(o.APIVersion) == ""
		switch {
		case o.Kind == "CustomResourceDefinition":
			l.CustomResourceDefinitions++
			if o.CustomResources == nil {
				l.Uncounted++
			} else {
				l.CustomResources += *o.CustomResources
			}
		case o.Kind == "Namespace" && core:
			l.Namespaces++
		case o.Kind == "PersistentVolumeClaim" && core:
			l.PersistentVolumeClaims++
			switch {
			case o.Volume == nil || o.Volume.Name != "" && o.Volume.ReclaimPolicy == "":
				l.UnknownVolumes++
			case o.Volume.ReclaimPolicy == "Delete":
				l.DeletedVolumes++
			}
		}
	}
}

// KeptNamespace is the reason of a release namespace that stays.
const KeptNamespace = "Namespace"
