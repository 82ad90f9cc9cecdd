// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// ReleaseChanged is the reason of the state Unknown for an object that an upgrade of the release may have changed or
// removed after the release record was read, or before the status of the bundle deployment named the new revision.
const ReleaseChanged = "ReleaseChanged"

// Rollout is what a second read of release records shows of a release that has a newer revision than the one of the
// desired objects, or that changed.
type Rollout struct {
	// Changed is true if the newest revision is not that of the first read, has another status, or could not be read
	// again.
	Changed bool
	// Next are the hashes of the manifests of the newest revision, if it did not change; nil if they could not be read.
	Next map[object.Key][sha256.Size]byte
}

// created reports whether an upgrade may have created an object.
func (x Rollout) created(k object.Key) bool {
	_, next := x.Next[k]
	return x.Changed || x.Next == nil || next
}

// explains reports whether an upgrade may have removed a missing object, or changed a modified one. manifest is the
// object in the revision that was evaluated.
func (x Rollout) explains(o *Object, manifest []byte) bool {
	next, kept := x.Next[o.Key()]
	switch {
	case o.State != Missing && o.State != Modified:
		return false
	case x.Changed || !kept:
		return true
	}
	return o.State == Modified && next != sha256.Sum256(manifest)
}

// releaseChanged makes an object Unknown that an upgrade may have changed.
func (o *Object) releaseChanged() {
	o.State, o.Reason = Unknown, ReleaseChanged
	o.Message = "an upgrade of the release may have changed it while the cluster was read"
	o.Differences, o.NotReady, o.Condition, o.TTLAfterFinished, o.Dependent = nil, false, "", nil, ""
}
