// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// FieldManager is the field manager of adopt and its undo, which change ownership metadata on purpose. The admission webhook does not change
// what they write.
const FieldManager = "fleetdoctor-adopt"

// Metadata is the ownership metadata of an object: the values of its five labels and annotations. The zero value means that none is set.
type Metadata struct {
	Hash, SetID, ManagedBy, ReleaseName, ReleaseNamespace string
	// SetHasOwner says that the annotations name an owner of the set, as on objects that controllers apply. The set of a bundle has none.
	SetHasOwner bool
	// empty has a bit for each key that is set to the empty value, by its index in keys.
	empty uint8
}

// Key is the label or the annotation that holds one value of Metadata.
type Key struct {
	Label bool // else an annotation
	Name  string
}

var keys = []Key{
	{true, fleet.HashLabel},
	{false, fleet.IDAnnotation},
	{true, fleet.ManagedByLabel},
	{false, fleet.ReleaseNameAnnotation},
	{false, fleet.ReleaseNamespaceAnnotation},
}

// Keys lists the five keys, in the order in which they are shown.
func Keys() []Key { return slices.Clone(keys) }

// Field is "label" or "annotation".
func (k Key) Field() string {
	if k.Label {
		return "label"
	}
	return "annotation"
}

// value is where the value of keys[i] is.
func (m *Metadata) value(i int) *string {
	switch i {
	case 0:
		return &m.Hash
	case 1:
		return &m.SetID
	case 2:
		return &m.ManagedBy
	case 3:
		return &m.ReleaseName
	}
	return &m.ReleaseNamespace
}

// get returns the value of keys[i], and whether the key is set.
func (m *Metadata) get(i int) (string, bool) {
	v := *m.value(i)
	return v, v != "" || m.empty&(1<<i) != 0
}

// MetadataOf reads the ownership metadata of an object.
func MetadataOf(labels, annotations map[string]string) Metadata {
	var m Metadata
	for i, k := range keys {
		from := annotations
		if k.Label {
			from = labels
		}
		v, ok := from[k.Name]
		*m.value(i) = v
		if ok && v == "" {
			m.empty |= 1 << i
		}
	}
	for _, k := range []string{fleet.OwnerGVKAnnotation, fleet.OwnerNameAnnotation, fleet.OwnerNamespaceAnnotation} {
		m.SetHasOwner = m.SetHasOwner || annotations[k] != ""
	}
	return m
}

// Desired returns the ownership metadata that Fleet and Helm write for a set and a release.
func Desired(setID, releaseName, releaseNamespace string) Metadata {
	return Metadata{Hash: fleet.Hash(setID), SetID: setID, ManagedBy: fleet.ManagedByHelm,
		ReleaseName: releaseName, ReleaseNamespace: releaseNamespace}
}

// Release returns the Helm release that the annotations name as "namespace/name"; "" if they name none.
func (m Metadata) Release() string {
	if m.ReleaseName == "" {
		return ""
	}
	return m.ReleaseNamespace + "/" + m.ReleaseName
}

// Equal says whether the five keys are set to the same values.
func (m Metadata) Equal(other Metadata) bool {
	m.SetHasOwner = other.SetHasOwner
	return m == other
}

// Values returns the values of the keys that are set, by the names of the keys.
func (m Metadata) Values() map[string]string {
	out := map[string]string{}
	for i, k := range keys {
		if v, ok := m.get(i); ok {
			out[k.Name] = v
		}
	}
	return out
}

// FromValues is the inverse of Values. It ignores other keys.
func FromValues(values map[string]string) Metadata { return MetadataOf(values, values) }

// Change is one key whose value differs. Old or New is nil if the key is not set.
type Change struct {
	Key
	Old, New *string
}

// Changes lists what changes before into after, in the order of Keys.
func Changes(before, after Metadata) []Change {
	var out []Change
	for i, k := range keys {
		was, had := before.get(i)
		is, has := after.get(i)
		if had == has && was == is {
			continue
		}
		c := Change{Key: k}
		if had {
			c.Old = &was
		}
		if has {
			c.New = &is
		}
		out = append(out, c)
	}
	return out
}
