// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// entry is one object.
type entry struct {
	key      object.Key
	version  string // of its kind
	raw      []byte // compact JSON
	managed  []byte // the managedFields, if they are not in raw
	typ      string // the field "type"
	repeated bool   // it was found more than once
	partial  bool   // not all of its fields were captured

	resourceVersion string
	file            string // displayed name
}

// store has each object once.
type store struct {
	entries  []entry
	byKey    map[object.Key]int
	repeated tally // of objects that were found more than once

	cluster, clusterFile string // the uid of the Namespace kube-system, and where it was found
	definitions          []definition
}

// object keeps an object with the JSON raw, and reads what it states about its cluster. The error is errTwoClusters or the error of a limit.
func (r *reader) object(f *file, raw []byte, h head) (object.Key, error) {
	gvk := h.groupVersionKind()
	e := entry{
		key:     object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: h.namespace, Name: h.name},
		version: gvk.Version, raw: raw, typ: h.typ, resourceVersion: h.resourceVersion, file: f.name,
	}
	if err := r.budget.kind(gvk); err != nil {
		return e.key, err
	}
	r.newest = later(r.newest, h.newest)
	switch gvk.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		if h.name == "kube-system" && h.uid != "" {
			// All paths must be of one cluster.
			if s := &r.store; s.cluster != "" && s.cluster != h.uid {
				return e.key, fmt.Errorf("%w: the Namespace kube-system has one uid in %s and another in %s", errTwoClusters, s.clusterFile, f.name)
			}
			r.store.cluster, r.store.clusterFile = h.uid, cmp.Or(r.store.clusterFile, f.name)
		}
	case schema.GroupKind{Kind: "Node"}:
		if v, err := version.ParseGeneric(h.kubelet); err == nil {
			if order, err := v.Compare(r.kubelet); err != nil || order > 0 {
				r.kubelet = h.kubelet
			}
		}
	case definitionKind:
		if err := r.define(raw); err != nil {
			return e.key, err
		}
	}
	r.store.put(e)
	return e.key, nil
}

// put keeps the newest copy of an object. A copy with a valid resourceVersion is preferred to one without, because more may have been
// removed from the latter. Of two copies without, put keeps the one that was read last.
func (s *store) put(e entry) {
	i, ok := s.byKey[e.key]
	if !ok {
		s.byKey[e.key] = len(s.entries)
		s.entries = append(s.entries, e)
		return
	}
	old := &s.entries[i]
	if !old.repeated {
		s.repeated.add(shown(e.key.String()) + " in " + old.file + " and " + e.file)
	}
	e.repeated, old.repeated = true, true
	order, err := resourceversion.CompareResourceVersion(e.resourceVersion, old.resourceVersion)
	if order > 0 || err != nil && (valid(e.resourceVersion) || !valid(old.resourceVersion)) {
		*old = e
	}
}

func valid(resourceVersion string) bool {
	_, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion)
	return err == nil
}

// byKind returns the objects of each kind, sorted by namespace and name.
func (s *store) byKind() map[schema.GroupKind][]entry {
	slices.SortFunc(s.entries, func(a, b entry) int { return a.key.Compare(b.key) })
	out := map[schema.GroupKind][]entry{}
	for i, e := range s.entries {
		gk := e.key.GroupKind()
		out[gk] = s.entries[i-len(out[gk]) : i+1]
	}
	return out
}

// learn reads the server's version and the time of the capture from a document that is not an object. It reports whether the document is
// known.
func (r *reader) learn(f *file, h *head) bool {
	known := h.isDiscovery() || h.ofTroubleshoot()
	if _, err := version.ParseGeneric(h.server); err == nil {
		known = true
		r.server = cmp.Or(r.server, h.server)
	}
	if !h.taken.IsZero() {
		known = true
		r.taken = later(r.taken, h.taken)
		r.notes = append(r.notes, f.name+": "+supportBundleKit)
	}
	f.known = f.known || known
	return known
}
