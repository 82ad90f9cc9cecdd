// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
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

// labelSet decodes the labels. They are not stored, because few queries select by label.
func (e *entry) labelSet() labels.Set {
	var o struct {
		Metadata struct {
			Labels labels.Set `json:"labels"`
		} `json:"metadata"`
	}
	if err := object.Into(e.raw, &o); err != nil {
		return labels.Set{}
	}
	return o.Metadata.Labels
}

// store has each object once.
type store struct {
	entries  []entry
	byKey    map[object.Key]int
	repeated files.Tally // of objects that were found more than once
}

// put keeps the newest copy of an object. A copy with a valid resourceVersion is preferred to one without, because more
// may have been removed from the latter. Of two copies without, put keeps the one that was read last.
func (s *store) put(e entry) {
	i, ok := s.byKey[e.key]
	if !ok {
		s.byKey[e.key] = len(s.entries)
		s.entries = append(s.entries, e)
		return
	}
	old := &s.entries[i]
	if !old.repeated {
		s.repeated.Add(files.Shown(e.key.String()) + " in " + old.file + " and " + e.file)
	}
	e.repeated, old.repeated = true, true
	if e.replaces(old) {
		*old = e
	}
}

func (e *entry) replaces(old *entry) bool {
	order, err := resourceversion.CompareResourceVersion(e.resourceVersion, old.resourceVersion)
	if err == nil {
		return order > 0
	}
	return valid(e.resourceVersion) || !valid(old.resourceVersion)
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
