// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"unique"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Status is what a release record says about its revision, reduced to what the index distinguishes.
type Status int8

// The statuses.
const (
	// Inactive is a superseded or failed revision, or one of a release that is not Fleet's. It desires nothing, but its
	// release exists.
	Inactive Status = iota
	// Unreadable is a revision whose record could not be read: what it desires is unknown.
	Unreadable
	// Deployed is the revision that Helm deployed.
	Deployed
	// Pending is a revision that Helm installs, upgrades or rolls back to. Helm stores the record before it applies.
	Pending
	// Uninstalling is the deployed revision of a release that Helm uninstalls. Its objects still have their owner, and no
	// further object gets it.
	Uninstalling
)

// Release describes one revision of a Helm release.
type Release struct {
	release.Name
	Status Status
	// Bundle is the name of the BundleDeployment; empty for a release that is not Fleet's.
	Bundle string
	// Agents deploy the release: the agent of this revision first, then that of the other revision that counts, if there
	// is one.
	Agents []Agent
	// Metadata is the ownership metadata of the objects in the manifest.
	Metadata ownership.Metadata
	// Objects is the number of distinct objects that the revision desires.
	Objects int
}

// Agent is the namespace of a Fleet agent, and the service account in it that Helm ran as; empty for the agent's own.
type Agent struct{ Namespace, ServiceAccount string }

// Revision is a Release with the objects that it desires. It does not change after NewRevision, so goroutines may share it.
type Revision[D any] struct {
	Release
	objects []entry[D]
}

// Object is one desired object. Desired is what the caller keeps about it: its manifest, a way to get that, or nothing.
type Object[D any] struct {
	Key     object.Key
	Desired D
}

// entry is an Object in little memory. An empty payload takes no memory in the first field, as it would in the last.
type entry[D any] struct {
	desired D
	key     key
}

// key is an object's identity; objects of one collection share its handle.
type key struct {
	collection unique.Handle[collection]
	name       string
}

// collection is one kind in one namespace.
type collection struct{ group, kind, namespace string }

func keyOf(k object.Key) key {
	return key{unique.Make(collection{k.Group, k.Kind, k.Namespace}), k.Name}
}

// NewRevision makes a Revision. Of objects with the same key the last one counts.
func NewRevision[D any](r Release, objects []Object[D]) *Revision[D] {
	out := &Revision[D]{Release: r, objects: make([]entry[D], 0, len(objects))}
	positions := make(map[key]int, len(objects))
	for _, o := range objects {
		k := keyOf(o.Key)
		if i, duplicate := positions[k]; duplicate {
			out.objects[i].desired = o.Desired
			continue
		}
		positions[k] = len(out.objects)
		out.objects = append(out.objects, entry[D]{o.Desired, k})
	}
	return out
}

// keyBytes and collectionBytes are the memory of a key and a collection beside their text, in the index and in the
// revision, with the spare room of the maps. They are measured and rounded up.
const keyBytes, collectionBytes = 100, 300

// Bytes estimates the memory that the revision takes in an index, in bytes, without the payloads of its objects.
func (r *Revision[D]) Bytes() int {
	n := 0
	collections := map[unique.Handle[collection]]bool{}
	for _, o := range r.objects {
		n += keyBytes + len(o.key.name)
		if !collections[o.key.collection] {
			collections[o.key.collection] = true
			c := o.key.collection.Value()
			n += collectionBytes + len(c.group) + len(c.kind) + len(c.namespace)
		}
	}
	return n
}
