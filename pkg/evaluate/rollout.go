// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// ReleaseChanged is the reason of the state Unknown for an object that an upgrade of the release may have changed or removed after the release record
// was read, or before the status of the bundle deployment named the new revision.
const ReleaseChanged = "ReleaseChanged"

// Rollout is what a second read of release records shows of a release that has a newer revision than the one of the desired objects, or that changed.
type Rollout struct {
	// Changed is true if the newest revision is not that of the first read, has another status, or could not be read again.
	Changed bool
	// Next are the hashes of the manifests of the newest revision, if it did not change; nil if they could not be read.
	Next map[object.Key][sha256.Size]byte
}

// PossiblyChanged returns the bundle deployments that an upgrade of their release may have changed since its record was read: objects are missing, modified,
// or not desired.
func (e *Evaluated) PossiblyChanged() []*BundleDeployment {
	hashes := map[string]bool{}
	for _, u := range e.Undesired {
		hashes[u.Metadata.Hash] = true
	}
	var out []*BundleDeployment
	for _, d := range e.Deployments {
		if d.From == resolve.FromRelease && (d.Counts.Missing+d.Counts.Modified > 0 || hashes[d.Ownership.Hash]) {
			out = append(out, d)
		}
	}
	return out
}

// Upgraded applies what a second read showed. Objects that an upgrade may have removed or changed are Unknown. Objects that it may have created are not
// reported.
func (e *Evaluated) Upgraded(rollouts map[object.DeploymentID]Rollout) {
	byHash := map[string]Rollout{}
	for _, d := range e.Deployments {
		if x, upgraded := rollouts[d.ID()]; upgraded {
			byHash[d.Ownership.Hash] = x
			d.upgraded(x)
		}
	}
	e.Undesired = slices.DeleteFunc(e.Undesired, func(u Undesired) bool {
		x, upgraded := byHash[u.Metadata.Hash]
		return upgraded && x.created(u.Key())
	})
}

// created reports whether an upgrade may have created an object.
func (x Rollout) created(k object.Key) bool {
	_, next := x.Next[k]
	return x.Changed || x.Next == nil || next
}

// explains reports whether an upgrade may have removed a missing object, or changed a modified one.
func (x Rollout) explains(o *Object) bool {
	next, kept := x.Next[o.Key()]
	switch {
	case o.State != Missing && o.State != Modified:
		return false
	case x.Changed || !kept:
		return true
	}
	return o.State == Modified && next != sha256.Sum256(o.Raw)
}

func (d *BundleDeployment) upgraded(x Rollout) {
	d.Orphans = slices.DeleteFunc(d.Orphans, func(u Undesired) bool { return x.created(u.Key()) })
	d.Counts = Counts{Orphaned: len(d.Orphans)}
	for i := range d.Objects {
		o := &d.Objects[i]
		if x.explains(o) {
			o.State, o.Reason, o.Message = Unknown, ReleaseChanged, "an upgrade of the release may have changed it while the cluster was read"
			o.Differences, o.NotReady, o.Condition, o.TTLAfterFinished = nil, false, "", nil
		}
		d.Counts.add(o.State)
	}
	d.State = stateOf(d)
}
