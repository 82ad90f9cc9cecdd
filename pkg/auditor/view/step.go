// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Step is a view with what changed since the view before it.
type Step struct {
	// Before is nil for the first view, which has no changes.
	Before, After *View
	Transitions   []Transition
	Uninstalled   []Uninstalled
}

// Transition is an object of a bundle deployment whose state changed.
type Transition struct {
	// Deployment is that of the later view.
	Deployment *Deployment
	Ref        Ref
	// Before and After are zero if the bundle deployment did not desire the object.
	Before, After Object
	// Known is the object when its state was known for the last time before, at the time Since.
	Known Object
	Since time.Time
}

// Vanished reports whether a desired object existed before and is missing now. A Job that expired did not vanish.
func (t *Transition) Vanished() bool {
	gone := t.After.State == report.Missing && exists(t.Known.State)
	return gone && !t.After.Expired()
}

// Dropped reports whether an object existed before, and a new revision no longer desires it. A dropped object that has
// still the ownership metadata of its bundle is Orphaned instead.
func (t *Transition) Dropped() bool { return t.After.State == "" && exists(t.Known.State) }

// exists reports whether an object with a state is known to exist.
func exists(s report.State) bool {
	switch s {
	case "", report.Missing, report.Unknown:
		return false
	}
	return true
}

// Presence is whether an object exists.
type Presence string

// The values of Presence.
const (
	Present  Presence = "true"
	Absent   Presence = "false"
	NotKnown Presence = "unknown"
)

// Uninstalled is a release that does not exist any more.
type Uninstalled struct {
	*Release
	// Since is the last time at which it is known to have existed.
	Since time.Time
	// Last is the bundle deployment when it had this release and was read for the last time; nil if it never was.
	Last *Deployment
	// Bundle is whether the Bundle of the release exists now, BundleDeployment whether its BundleDeployment does.
	Bundle, BundleDeployment Presence
}

// Refs are the objects that the release had as far as they are known. Those that did not exist are left out. There are
// none with keepResources: the objects stay.
func (u *Uninstalled) Refs() []Ref {
	switch {
	case u.KeepResources:
		return nil
	case u.Last == nil:
		return u.Deletes
	}
	var out []Ref
	for _, o := range u.Last.Objects {
		if exists(o.State) {
			out = append(out, o.Ref)
		}
	}
	return out
}

// presence is whether an object of Fleet exists, by its key ("namespace/name").
func (v *View) presence(kind, key string) Presence {
	if key == "" {
		return NotKnown
	}
	for _, o := range v.Fleet {
		if o.Kind == kind && o.Namespace+"/"+o.Name == key {
			return Present
		}
	}
	if v.FleetRead[kind] {
		return Absent
	}
	return NotKnown
}

func (v *View) uninstalled(was *installed) Uninstalled {
	last := was.last
	u := Uninstalled{Release: was.Release, Since: was.at, Last: last, Bundle: NotKnown, BundleDeployment: NotKnown}
	if last != nil {
		u.Bundle = v.presence(state.Bundle, last.Bundle)
		u.BundleDeployment = v.presence(state.BundleDeployment, last.Namespace+"/"+last.Name)
	}
	return u
}

// installed is a release, with its bundle deployment when that was read for the last time.
type installed struct {
	*Release
	last *Deployment
	at   time.Time
}
