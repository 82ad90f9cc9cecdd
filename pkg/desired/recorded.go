// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// namespaced reports whether a kind has namespaces.
type namespaced = func(schema.GroupVersionKind) bool

// Recorded returns the desired objects of a bundle deployment in the record of its release. c is the state of its
// cluster, history are the revisions of the release.
func Recorded(d *directory.Deployment, c *state.Cluster, history []*state.Record) []*Object {
	x := &BundleDeployment{Deployment: *d}
	x.recorded(history, c.Namespaced)
	return x.Desired
}

// Restore sets the manifests of the desired objects that DropManifests dropped, from the record of their release. It
// returns false if the record has not all of them.
func (d *BundleDeployment) Restore(rec *state.Record, namespaced namespaced) bool {
	manifests := map[object.Key][]byte{}
	for _, o := range rec.Objects {
		manifests[newObject(o, rec.Namespace, namespaced).Key()] = o.Raw
	}
	for _, o := range d.Claimed() {
		if o.Raw == nil {
			o.Raw = manifests[o.Key()]
		}
	}
	return !slices.ContainsFunc(d.Claimed(), func(o *Object) bool { return o.Raw == nil })
}

// recorded sets the desired objects from the record of the release, if there is no problem with it.
func (d *BundleDeployment) recorded(history []*state.Record, namespaced namespaced) {
	i := slices.IndexFunc(history, func(rec *state.Record) bool { return rec.Name == d.Release })
	if i < 0 && len(history) > 0 {
		for _, o := range history[len(history)-1].Objects {
			d.Newest = append(d.Newest, newObject(o, d.Release.Namespace, namespaced).Ref)
		}
	}
	if i < 0 || d.Problem != "" {
		return
	}
	rec := history[i]
	d.From = FromRelease
	d.Desired, d.OtherVersions = d.distinct(d.Release.Namespace, rec.Objects, namespaced)
	d.Earlier, d.Hooks = map[KindName]bool{}, map[KindName]bool{}
	d.earlier(history[:i])
	if i < len(history)-1 {
		d.Next = manifests(history[len(history)-1], namespaced)
	}
	for _, h := range rec.Hooks {
		d.Hooks[KindName{h.Kind, h.Name}] = true
	}
}

// manifests returns the hashes of the manifests of a record; nil if they are not known.
func manifests(rec *state.Record, namespaced namespaced) map[object.Key][sha256.Size]byte {
	if rec.Damaged != "" || rec.ManifestError != nil || rec.Skipped {
		return nil
	}
	out := map[object.Key][sha256.Size]byte{}
	for _, o := range rec.Objects {
		x := newObject(o, rec.Namespace, namespaced)
		out[x.Key()] = sha256.Sum256(x.Raw)
	}
	return out
}

// earlier collects the objects of earlier revisions. Fleet reports those that still have the hash as extra.
func (d *BundleDeployment) earlier(before []*state.Record) {
	d.EarlierKnown = d.Release.Revision == 1
	for _, r := range before {
		for _, h := range r.Hooks {
			d.Hooks[KindName{h.Kind, h.Name}] = true
		}
		if r.Damaged != "" || r.ManifestError != nil {
			continue
		}
		if r.Revision == d.Release.Revision-1 {
			d.EarlierKnown = true
		}
		for _, o := range r.Objects {
			d.Earlier[KindName{o.Kind, o.Name}] = true
		}
	}
}

// distinct returns the objects of a manifest without duplicates, of which the last one counts. namespace is the default
// namespace. otherVersions is true if duplicates are in different versions of a kind.
func (d *BundleDeployment) distinct(namespace string, objects []release.Object, namespaced namespaced) (out []*Object,
	otherVersions bool) {
	id, at := d.ID(), map[object.Key]int{}
	d.Twice = nil
	for _, o := range objects {
		x := newObject(o, namespace, namespaced)
		x.Deployment = id
		i, known := at[x.Key()]
		if known {
			if out[i].APIVersion == x.APIVersion && !bytes.Equal(out[i].Raw, x.Raw) {
				d.Twice = append(d.Twice, x.Ref)
			}
			otherVersions = otherVersions || out[i].APIVersion != x.APIVersion
			x.Index, out[i] = i, x
			continue
		}
		x.Index = len(out)
		at[x.Key()] = x.Index
		out = append(out, x)
	}
	return out, otherVersions
}

// newObject returns an object of a manifest with its namespace. namespace is the default namespace.
func newObject(o release.Object, namespace string, namespaced namespaced) *Object {
	x := &Object{Ref: o.Ref, Raw: o.Raw, Namespaced: namespaced(o.GroupVersionKind()), Document: o.Document,
		Alone: o.Alone}
	switch {
	case !x.Namespaced:
		x.Namespace = ""
	case x.Namespace == "":
		x.Namespace = namespace
	}
	return x
}
