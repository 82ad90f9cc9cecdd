// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
)

const effectNoManifest = "only the objects themselves prove what was captured"

// use replaces what the objects prove by what the manifest states.
func (s *Snapshot) use(m *Manifest) {
	kinds := m.kinds()
	for _, k := range s.kinds.Every() {
		if _, known := kinds.Preferred(k.GroupKind()); !known {
			kinds.Add(k)
		}
	}
	s.kinds = kinds
	for _, k := range kinds.All() {
		if _, stated := s.coverage[k.GroupKind()]; !stated {
			s.coverage[k.GroupKind()] = extent{}.coverage()
		}
	}
	for _, g := range m.Gaps {
		if !g.Listed {
			s.description.Gaps = append(s.description.Gaps, g.Gap)
		}
	}
	whole := s.cover(m)
	d := &s.description
	d.TakenAt, d.Earliest = cmp.Or(m.TakenAt, d.TakenAt), m.Earliest
	d.KubernetesVersion = cmp.Or(m.Versions.Kubernetes, d.KubernetesVersion)
	d.Complete, d.Unmasked = m.Complete && whole, m.Unmasked
	d.Notes = append(slices.Clone(m.Notes), d.Notes...)
	if m.Masked != nil && m.Unmasked == nil {
		d.Unmasked = &source.Unmasked{}
	}
	if d.Complete {
		s.separate()
	}
}

// cover uses the statement of a manifest about each kind of which no object is lost. It reports whether none is lost.
func (s *Snapshot) cover(m *Manifest) bool {
	whole := true
	s.selected = map[schema.GroupKind]string{}
	for i := range m.Captured {
		c := &m.Captured[i]
		if lost := c.Objects - len(s.objects[c.groupKind()]); lost > 0 {
			s.description.Gaps = append(s.description.Gaps, source.Gap{
				What:   fmt.Sprintf("%d of %d objects of kind %s", lost, c.Objects, files.Shown(c.Kind)),
				Reason: "they are not in the snapshot any more, or are damaged",
				Effect: "they are not known to be missing on the cluster; take the snapshot again",
			})
			whole = false
			s.coverage[c.groupKind()] = source.NotCovered(source.Failure{
				Reason: source.NotInSnapshot, Detail: "objects of this kind were lost after the snapshot was taken",
			})
			continue
		}
		s.coverage[c.groupKind()] = c.coverage()
		if c.LabelSelector != "" {
			s.selected[c.groupKind()] = c.LabelSelector
		}
	}
	return whole
}

// markPartial marks the objects of which not all fields were captured.
func (s *Snapshot) markPartial() {
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			if !bytes.Contains(e.raw, []byte(CapturedAnnotation)) {
				continue
			}
			m, err := object.ReadMeta(e.raw)
			e.partial = err == nil && m.Metadata.Annotations[CapturedAnnotation] == CapturedMetadata
		}
	}
}

// separate takes the managedFields out of the objects, as a cluster yields them: an audit uses them for fewer objects
// then.
func (s *Snapshot) separate() {
	var reader object.ItemReader
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			item, err := reader.Read(jsontext.NewDecoder(bytes.NewBuffer(e.raw), lenient))
			if err == nil && len(item.ManagedFields) > 0 {
				e.raw, e.managed = bytes.Clone(item.Raw), bytes.Clone(item.ManagedFields)
			}
		}
	}
}
