// SPDX-License-Identifier: Apache-2.0

// Package publish writes what others read of the auditor: Events of what changed, a journal of what vanished in
// ConfigMaps, and the findings as objects of the OpenReports API.
package publish

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
)

// maxObjects is the number of objects that an entry names.
const maxObjects = 500

// entriesOf returns what vanished in a step.
func entriesOf(s *view.Step) []journal.Entry {
	type group struct {
		event      journal.Event
		deployment *view.Deployment
		since      time.Time
	}
	var out []journal.Entry
	index := map[group]int{}
	for i := range s.Transitions {
		t := &s.Transitions[i]
		g := group{journal.Deleted, t.Deployment, t.Since}
		switch {
		case t.Vanished():
		case t.Dropped():
			g.event = journal.Dropped
		default:
			continue
		}
		i, known := index[g]
		if !known {
			i = len(out)
			index[g] = i
			out = append(out, entry(g.event, t.Deployment, t.Since, s.After.Evaluated))
		}
		add(&out[i], t.Known)
	}
	for i := range s.Uninstalled {
		out = append(out, uninstalled(s, &s.Uninstalled[i]))
	}
	return out
}

// entry returns an entry without objects.
func entry(event journal.Event, d *view.Deployment, from, to time.Time) journal.Entry {
	e := journal.Entry{Event: event, From: rounded(from), To: rounded(to), Cluster: d.Cluster,
		BundleDeployment: d.ID.String(), Bundle: d.Bundle, Release: d.Release, Revision: d.Revision, Commit: d.Commit}
	if event == journal.Dropped {
		e.By = "a new revision of the release"
	}
	return e
}

func rounded(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// add adds an object, as it was last known.
func add(e *journal.Entry, o view.Object) {
	e.Total++
	if len(e.Objects) < maxObjects {
		e.Objects = append(e.Objects, journal.Object{Ref: o.Ref.Value(), LastWriter: lastWriter(o.Detail)})
	}
}

// lastWriter is the manager of the newest recorded difference.
func lastWriter(d *view.Detail) string {
	manager, when := "", ""
	if d == nil {
		return ""
	}
	for _, c := range d.Changes {
		if c.Manager != "" && c.Time >= when {
			manager, when = c.Manager, c.Time
		}
	}
	return manager
}

// uninstalled returns the entry of a release that vanished.
func uninstalled(s *view.Step, u *view.Uninstalled) journal.Entry {
	d := u.Last
	if d == nil {
		d = &view.Deployment{Name: u.BundleID}
		d.ID.Name = u.BundleID
	}
	e := entry(journal.Uninstalled, d, u.Since, s.After.Evaluated)
	e.Release, e.Revision, e.By, e.KeepResources = u.Name, u.Revision, remover(u), u.KeepResources
	refs := u.Refs()
	for _, ref := range refs[:min(len(refs), maxObjects)] {
		e.Objects = append(e.Objects, journal.Object{Ref: ref.Value()})
	}
	e.Total = len(refs)
	return e
}

// remover is who uninstalled a release, if the data of the cluster shows that; empty if it does not.
func remover(u *view.Uninstalled) string {
	switch {
	case u.Agent == "":
		return ""
	case u.Uninstall:
		return "the agent in " + u.Agent + ": its garbage collection was about to uninstall the release"
	case u.Last != nil && u.Last.Exists && u.BundleDeployment == view.Absent:
		return "the agent in " + u.Agent + ": the BundleDeployment of the release was deleted"
	}
	return ""
}
