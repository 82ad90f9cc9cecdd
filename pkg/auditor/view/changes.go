// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Transition is an object of a bundle deployment whose state changed between two views.
type Transition struct {
	// Deployment is that of the later view.
	Deployment *Deployment
	Ref        Ref
	// Before and After are zero if the bundle deployment did not desire the object.
	Before, After Object
}

// Vanished reports whether a desired object existed before and is missing now.
func (t Transition) Vanished() bool { return t.After.State == report.Missing && exists(t.Before.State) }

// Dropped reports whether an object existed before, and a new revision no longer desires it. A dropped object that has
// still the ownership metadata of its bundle is Orphaned instead.
func (t Transition) Dropped() bool { return t.After.State == "" && exists(t.Before.State) }

// exists reports whether an object with a state is known to exist.
func exists(s report.State) bool {
	switch s {
	case "", report.Missing, report.Unknown:
		return false
	}
	return true
}

// Transitions returns the changes of state between two views, in the order of the later one. Bundle deployments whose
// desired objects are not known in one of the views have none. Without an earlier view, there are none.
func Transitions(before, after *View) []Transition {
	if before == nil {
		return nil
	}
	earlier := before.byID()
	var out []Transition
	for _, d := range after.Deployments {
		was := earlier[d.ID]
		if was == nil || was.Reason != "" || d.Reason != "" {
			continue
		}
		out = append(out, transitions(was.Objects, d)...)
	}
	return out
}

// byID returns the bundle deployments by their identity.
func (v *View) byID() map[object.DeploymentID]*Deployment {
	out := make(map[object.DeploymentID]*Deployment, len(v.Deployments))
	for _, d := range v.Deployments {
		out[d.ID] = d
	}
	return out
}

// transitions goes through the objects of two views of a bundle deployment, which are sorted.
func transitions(before []Object, d *Deployment) []Transition {
	var out []Transition
	after := d.Objects
	for len(before) > 0 || len(after) > 0 {
		t := Transition{Deployment: d}
		order := compare(before, after)
		if order <= 0 {
			t.Ref, t.Before, before = before[0].Ref, before[0], before[1:]
		}
		if order >= 0 {
			t.Ref, t.After, after = after[0].Ref, after[0], after[1:]
		}
		if t.Before.State != t.After.State {
			out = append(out, t)
		}
	}
	return out
}

// compare compares the first objects of two lists, of which at most one is empty. An empty list is the last one.
func compare(before, after []Object) int {
	switch {
	case len(after) == 0:
		return -1
	case len(before) == 0:
		return 1
	case before[0].Ref == after[0].Ref:
		return 0
	}
	return before[0].Ref.Value().Compare(after[0].Ref.Value())
}

// Presence is whether an object exists.
type Presence string

// The values of Presence.
const (
	Present  Presence = "true"
	Absent   Presence = "false"
	NotKnown Presence = "unknown"
)

// Uninstalled is a release of an earlier view that does not exist any more.
type Uninstalled struct {
	*Release
	// Bundle is whether the Bundle of the release exists now, BundleDeployment whether its BundleDeployment does.
	Bundle, BundleDeployment Presence
}

// Refs are the objects that the release had as far as they are known. Those that did not exist are left out.
func (u Uninstalled) Refs() []Ref {
	if u.Deployment == nil {
		return u.Deletes
	}
	var out []Ref
	for _, o := range u.Deployment.Objects {
		if exists(o.State) {
			out = append(out, o.Ref)
		}
	}
	return out
}

// Uninstalls returns the releases of the earlier view that the later one does not have, although every release record
// of the cluster was read.
func Uninstalls(before, after *View) []Uninstalled {
	if before == nil {
		return nil
	}
	type key struct {
		on   object.ClusterID
		name string
	}
	present := map[key]bool{}
	for _, r := range after.Releases {
		present[key{r.On, r.Name}] = true
	}
	var out []Uninstalled
	for _, r := range before.Releases {
		if present[key{r.On, r.Name}] || !after.RecordsRead[r.On] {
			continue
		}
		u := Uninstalled{Release: r, Bundle: NotKnown, BundleDeployment: NotKnown}
		if d := r.Deployment; d != nil {
			u.Bundle = after.presence(state.Bundle, d.Bundle)
			u.BundleDeployment = after.presence(state.BundleDeployment, d.Namespace+"/"+d.Name)
		}
		out = append(out, u)
	}
	return out
}

func (v *View) presence(kind, key string) Presence {
	if key == "" {
		return NotKnown
	}
	exists, known := v.Has(kind, key)
	switch {
	case exists:
		return Present
	case known:
		return Absent
	}
	return NotKnown
}
