// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Follower compares each view with the one before it. What a view could not read is compared when it is read again.
// The zero value is ready for use.
type Follower struct {
	view *View
	// read are the bundle deployments as they were read for the last time, unknown their objects that were Unknown
	// then.
	read    map[object.DeploymentID]seen
	unknown map[object.DeploymentID]map[Ref]known
	// releases are those that exist, as far as that is known.
	releases map[releaseID]installed
}

type seen struct {
	*Deployment
	at time.Time
}

// known is an object when its state was known for the last time.
type known struct {
	Object
	at time.Time
}

type releaseID struct {
	on   object.ClusterID
	name string
}

// Confirm states that nothing had changed at a later time than that of the last view.
func (f *Follower) Confirm(at time.Time) {
	if f.view == nil || !at.After(f.view.At) {
		return
	}
	for id, d := range f.read {
		if d.at.Equal(f.view.At) {
			f.read[id] = seen{d.Deployment, at}
		}
	}
	for id, r := range f.releases {
		if r.at.Equal(f.view.At) {
			r.at = at
			f.releases[id] = r
		}
	}
}

// Next compares a view with the one before it.
func (f *Follower) Next(v *View) *Step {
	out := &Step{Before: f.view, After: v}
	read, unknown := map[object.DeploymentID]seen{}, map[object.DeploymentID]map[Ref]known{}
	for _, d := range v.Deployments {
		last, was := f.read[d.ID]
		if d.Reason != "" {
			if was {
				read[d.ID], unknown[d.ID] = last, f.unknown[d.ID]
			}
			continue
		}
		read[d.ID] = seen{d, v.At}
		if was {
			c := comparison{of: d, since: last.at, unknown: f.unknown[d.ID], stillUnknown: map[Ref]known{}}
			c.compare(last.Objects)
			out.Transitions = append(out.Transitions, c.changed...)
			unknown[d.ID] = c.stillUnknown
		}
	}
	out.Uninstalled = f.uninstalled(v)
	f.view, f.read, f.unknown = v, read, unknown
	return out
}

// uninstalled returns the releases that a view does not have, although every release record of the cluster was read.
func (f *Follower) uninstalled(v *View) []Uninstalled {
	now := map[releaseID]installed{}
	for _, r := range v.Releases {
		id := releaseID{r.On, r.Name}
		last := f.releases[id].last
		if d := r.Deployment; d != nil && d.Reason == "" {
			last = d
		}
		now[id] = installed{r, last, v.At}
	}
	var out []Uninstalled
	for id, was := range f.releases {
		_, present := now[id]
		switch {
		case present:
		case v.RecordsRead[id.on]:
			out = append(out, v.uninstalled(&was))
		default: // it may still exist
			now[id] = was
		}
	}
	slices.SortFunc(out, func(x, y Uninstalled) int {
		return cmp.Or(cmp.Compare(x.On, y.On), cmp.Compare(x.Name, y.Name))
	})
	f.releases = now
	return out
}

// comparison compares the objects of a bundle deployment with those that it had at a time.
type comparison struct {
	of    *Deployment
	since time.Time
	// unknown are the objects that were Unknown at that time, stillUnknown those that are Unknown now.
	unknown, stillUnknown map[Ref]known
	changed               []Transition
}

// compare goes through the objects of two views, which are sorted.
func (c *comparison) compare(before []Object) {
	after := c.of.Objects
	for len(before) > 0 || len(after) > 0 {
		t := Transition{Deployment: c.of}
		order := orderOf(before, after)
		if order <= 0 {
			t.Ref, t.Before, before = before[0].Ref, before[0], before[1:]
		}
		if order >= 0 {
			t.Ref, t.After, after = after[0].Ref, after[0], after[1:]
		}
		t.Known, t.Since = t.Before, c.since
		if remembered, was := c.unknown[t.Ref]; was {
			t.Known, t.Since = remembered.Object, remembered.at
		}
		if t.After.State == report.Unknown && t.Known.State != "" {
			c.stillUnknown[t.Ref] = known{t.Known, t.Since}
		}
		if t.Before.State != t.After.State {
			c.changed = append(c.changed, t)
		}
	}
}

// orderOf compares the first objects of two lists, of which at most one is empty. An empty list is the last one.
func orderOf(before, after []Object) int {
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
