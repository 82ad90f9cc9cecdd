// SPDX-License-Identifier: Apache-2.0

package ownership

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"

// FieldManager is the field manager of whoever sets the keys on purpose: adopt and its undo. The admission webhook leaves its writes alone.
const FieldManager = "fleetdoctor-adopt"

// Key is one of the five keys that mark an object.
type Key struct {
	Label bool // else an annotation
	Name  string
	of    func(*Metadata) *string
}

// Keys lists the five keys, in the order in which they are shown.
func Keys() []Key {
	return []Key{
		{true, fleet.HashLabel, func(m *Metadata) *string { return &m.Hash }},
		{false, fleet.IDAnnotation, func(m *Metadata) *string { return &m.SetID }},
		{true, fleet.ManagedByLabel, func(m *Metadata) *string { return &m.ManagedBy }},
		{false, fleet.ReleaseNameAnnotation, func(m *Metadata) *string { return &m.ReleaseName }},
		{false, fleet.ReleaseNamespaceAnnotation, func(m *Metadata) *string { return &m.ReleaseNamespace }},
	}
}

// Stamps are the values of the five keys on an object by key. Unlike Metadata they tell a key that is empty from one that is not there.
type Stamps map[string]string

// StampsOf reads the five keys of an object.
func StampsOf(labels, annotations map[string]string) Stamps {
	out := Stamps{}
	for _, k := range Keys() {
		from := annotations
		if k.Label {
			from = labels
		}
		if v, ok := from[k.Name]; ok {
			out[k.Name] = v
		}
	}
	return out
}

// Whole says whether they were stated, and hold none but the five keys.
func (s Stamps) Whole() bool {
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Name] = true
	}
	for k := range s {
		if !known[k] {
			return false
		}
	}
	return s != nil
}

// Change is one key that differs. A value that is not there is nil.
type Change struct {
	Key
	Old, New *string
}

// Changes lists what turns the one into the other, in the order of Keys; empty where nothing does.
func Changes(before, after Stamps) []Change {
	var out []Change
	for _, k := range Keys() {
		was, had := before[k.Name]
		is, has := after[k.Name]
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

// Field is "label" or "annotation".
func (k Key) Field() string {
	if k.Label {
		return "label"
	}
	return "annotation"
}

// Stamps returns marks as the keys that carry them.
func (m Metadata) Stamps() Stamps {
	out := Stamps{}
	for _, k := range Keys() {
		if v := *k.of(&m); v != "" {
			out[k.Name] = v
		}
	}
	return out
}

// Metadata returns what the keys say.
func (s Stamps) Marks() Metadata {
	var m Metadata
	for _, k := range Keys() {
		*k.of(&m) = s[k.Name]
	}
	return m
}
