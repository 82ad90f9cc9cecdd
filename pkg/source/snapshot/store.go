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
	key     object.Key
	version string // of its kind
	raw     []byte // compact JSON
	typ     string // the field "type"
	again   bool   // it was found more than once

	resourceVersion string
	file            string // as it is shown
}

// store keeps each object once.
type store struct {
	entries []entry
	byKey   map[object.Key]int
	again   tally // of objects that were found more than once

	cluster, clusterFile string // the uid of the Namespace kube-system, and where it was found
	definitions          []definition
}

// object keeps an object, whose JSON is raw, and what it says of its cluster. Its error is errTwoClusters or that of a limit.
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
			if err := r.store.identify(h.uid, f.name); err != nil {
				return e.key, err
			}
		}
	case schema.GroupKind{Kind: "Node"}:
		if v, err := version.ParseGeneric(h.kubelet); err == nil && (r.kubelet == nil || r.kubelet.LessThan(v)) {
			r.kubelet, r.kubeletVersion = v, h.kubelet
		}
	case definitionKind:
		if err := r.define(raw); err != nil {
			return e.key, err
		}
	}
	r.store.put(e)
	return e.key, nil
}

// identify takes the identity of a cluster. All paths must be of one cluster.
func (s *store) identify(uid, file string) error {
	if s.cluster != "" && s.cluster != uid {
		return fmt.Errorf("%w: the Namespace kube-system has one uid in %s and another in %s", errTwoClusters, s.clusterFile, file)
	}
	s.cluster, s.clusterFile = uid, cmp.Or(s.clusterFile, file)
	return nil
}

// put keeps the newest of what is found of one object. One with a valid resourceVersion is preferred to one without, from which more
// may have been removed. Of two without, the one that was read last is kept.
func (s *store) put(e entry) {
	if s.byKey == nil {
		s.byKey = map[object.Key]int{}
	}
	i, ok := s.byKey[e.key]
	if !ok {
		s.byKey[e.key] = len(s.entries)
		s.entries = append(s.entries, e)
		return
	}
	old := &s.entries[i]
	if !old.again {
		s.again.add(shown(e.key.String()) + " in " + old.file + " and " + e.file)
	}
	e.again, old.again = true, true
	newer, err := resourceversion.CompareResourceVersion(e.resourceVersion, old.resourceVersion)
	_, bad := resourceversion.CompareResourceVersion(e.resourceVersion, e.resourceVersion)
	_, badOld := resourceversion.CompareResourceVersion(old.resourceVersion, old.resourceVersion)
	if newer > 0 || err != nil && (bad == nil || badOld != nil) {
		*old = e
	}
}

// byKind sorts the objects by kind, and within it by namespace and name.
func (s *store) byKind() map[schema.GroupKind][]entry {
	slices.SortFunc(s.entries, func(a, b entry) int { return a.key.Compare(b.key) })
	out := map[schema.GroupKind][]entry{}
	for begin := 0; begin < len(s.entries); {
		end := begin + 1
		for end < len(s.entries) && s.entries[end].key.GroupKind() == s.entries[begin].key.GroupKind() {
			end++
		}
		out[s.entries[begin].key.GroupKind()] = s.entries[begin:end:end]
		begin = end
	}
	return out
}

// learn takes what a document that is not an object says of the capture, and says whether that is anything.
func (r *reader) learn(f *file, h *head) bool {
	known := h.isDiscovery()
	if _, err := version.ParseGeneric(h.server); err == nil {
		known = true
		r.server = cmp.Or(r.server, h.server)
	}
	if !h.taken.IsZero() {
		known = true
		r.taken = later(r.taken, h.taken)
	}
	f.known = f.known || known
	return known
}
