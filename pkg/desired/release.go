// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"unique"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Status is the status of a revision in its release record, reduced to the values that the index distinguishes.
type Status int8

// The statuses.
const (
	// Inactive is a superseded or failed revision, or one of a release that is not Fleet's. It desires nothing, but its
	// release exists.
	Inactive Status = iota
	// Unreadable is a revision whose record could not be read: its desired objects are unknown.
	Unreadable
	// Deployed is the revision that Helm deployed.
	Deployed
	// Pending is a revision that Helm installs, upgrades or rolls back to. Helm stores the record before it applies.
	Pending
	// Uninstalling is the deployed revision of a release that Helm uninstalls. Its objects still have their owner, and
	// no further object gets it.
	Uninstalling
)

// Release describes one revision of a Helm release.
type Release struct {
	release.Name
	Status Status
	// Bundle is the name of the BundleDeployment; empty for a release that is not Fleet's.
	Bundle string
	// Agents deploy the release: the agent of this revision first, then that of the other revision that counts, if
	// there is one.
	Agents []Agent
	// Metadata is the ownership metadata of the objects in the manifest.
	Metadata ownership.Metadata
	// Objects is the number of distinct objects that the revision desires.
	Objects int
}

// Agent is the namespace of a Fleet agent, and the service account in it that Helm ran as; empty for the agent's own.
type Agent struct{ Namespace, ServiceAccount string }

// Revision is a Release with the objects that it desires. It does not change after NewRevision, so goroutines may share
// it.
type Revision struct {
	Release
	keys []Key
}

// Desires implements Claimant.
func (r *Revision) Desires(yield func(Key, *Revision) bool) {
	for _, k := range r.keys {
		if !yield(k, r) {
			return
		}
	}
}

// OwnSet implements Claimant.
func (r *Revision) OwnSet() Set { return Set{Hash: r.Metadata.Hash} }

// NewRevision makes a Revision that desires objects with these keys.
func NewRevision(r Release, keys []object.Key) *Revision {
	out := &Revision{Release: r, keys: make([]Key, 0, len(keys))}
	added := make(map[Key]bool, len(keys))
	for _, k := range keys {
		if k := KeyOf(object.ID{Key: k}); !added[k] {
			added[k] = true
			out.keys = append(out.keys, k)
		}
	}
	return out
}

// keyBytes and collectionBytes are the memory of a key and a collection beside their text, in the index and in the
// revision, with the spare room of the maps. They are measured and rounded up.
const keyBytes, collectionBytes = 100, 300

// Bytes estimates the memory of the revision in an index, in bytes.
func (r *Revision) Bytes() int {
	n := 0
	collections := map[unique.Handle[collection]]bool{}
	for _, k := range r.keys {
		n += keyBytes + len(k.name)
		if !collections[k.collection] {
			collections[k.collection] = true
			c := k.collection.Value()
			n += collectionBytes + len(c.group) + len(c.kind) + len(c.namespace)
		}
	}
	return n
}
