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
	labels  [2]int32
	typ     string
	double  bool // it was found more than once

	resourceVersion string
	file            string // as it is shown
}

// store keeps each object once.
type store struct {
	entries []entry
	byKey   map[object.Key]int
	double  tally

	cluster, clusterFile string // the uid of the Namespace kube-system, and where it was found
	definitions          []definition
}

// object keeps an object, whose JSON is raw, and what it says of its cluster. Its error
// is errTwoClusters or that of a limit.
func (r *reader) object(f *file, raw []byte, x facts) (object.Key, error) {
	ref := object.Ref{APIVersion: x.apiVersion, Kind: x.kind, Namespace: x.namespace, Name: x.name}
	e := entry{
		key: ref.Key(), version: ref.GroupVersionKind().Version, raw: raw, typ: x.typ,
		labels:          [2]int32{int32(x.labels[0]), int32(x.labels[1])},
		resourceVersion: x.resourceVersion, file: f.name,
	}
	if err := r.budget.kind(ref.GroupVersionKind()); err != nil {
		return e.key, err
	}
	r.newest = later(r.newest, x.newest)
	switch e.key.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		if x.name == "kube-system" && x.uid != "" {
			if err := r.store.identify(x.uid, f.name); err != nil {
				return e.key, err
			}
		}
	case schema.GroupKind{Kind: "Node"}:
		if v, err := version.ParseGeneric(x.kubelet); err == nil && (r.kubelet == nil || r.kubelet.LessThan(v)) {
			r.kubelet, r.kubeletVersion = v, x.kubelet
		}
	case definitionKind:
		if err := r.define(raw); err != nil {
			return e.key, err
		}
	}
	r.store.put(e)
	return e.key, nil
}

// identify takes the identity of a cluster, of which there must be one.
func (s *store) identify(uid, file string) error {
	if s.cluster != "" && s.cluster != uid {
		return fmt.Errorf("%w: the Namespace kube-system has one uid in %s and another in %s", errTwoClusters, s.clusterFile, file)
	}
	s.cluster, s.clusterFile = uid, cmp.Or(s.clusterFile, file)
	return nil
}

// put keeps the newest of what is found of one object. One that says how new it is comes before one that does not: it was stripped of more
// than that. Where neither says, it is the one that was read last.
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
	if !old.double {
		s.double.add(shown(e.key.String()) + " in " + old.file + " and " + e.file)
	}
	e.double, old.double = true, true
	c, err := resourceversion.CompareResourceVersion(e.resourceVersion, old.resourceVersion)
	if err != nil {
		c = 1
		if dated(old.resourceVersion) && !dated(e.resourceVersion) {
			c = -1
		}
	}
	if c > 0 {
		*old = e
	}
}

func dated(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
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

// learn takes what a document that is no object says of the capture, and says whether that is any.
func (r *reader) learn(f *file, x facts) bool {
	known := x.isDiscovery()
	if v, err := version.ParseGeneric(x.about.gitVersion); err == nil && v != nil {
		known = true
		r.server = cmp.Or(r.server, x.about.gitVersion)
	}
	if !x.about.taken.IsZero() {
		known = true
		r.taken = later(r.taken, x.about.taken)
	}
	f.known = f.known || known
	return known
}
