// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const (
	// keptAfter is how long the counters of a bundle deployment remain after it is gone, so that alerts see them.
	keptAfter = time.Hour
	// flapsWithin is the time in which changes of a field count as flapping.
	flapsWithin = time.Hour
	// maxFields is the number of fields of a bundle deployment that are followed.
	maxFields = 100
)

// history is what the metrics know beyond one view.
type history struct {
	// deployments are those that have series.
	deployments map[object.DeploymentID]*deploymentHistory
	// releases are the numbers of those of which only the release is known, by its namespace.
	releases map[string]int
	// findings are the times when the present findings were seen first, by their ID.
	findings map[string]time.Time
	writes   map[fleetID]written
}

// fleetID identifies an object of Fleet.
type fleetID struct{ kind, namespace, name string }

// written counts the writes of an object of Fleet.
type written struct {
	version string
	count   int
}

// deploymentHistory is what is known of a bundle deployment beyond one view.
type deploymentHistory struct {
	// last is the bundle deployment in the newest view that has it, gone the time since when no view has it.
	last *view.Deployment
	gone time.Time
	// read is true if its release or its objects were read at least once.
	read bool
	// namespace is that of its release, if only the release is known: who may create a Secret there can make more
	// of them. It is empty otherwise.
	namespace string

	revision, revisions, vanished int
	uninstalled                   map[view.Presence]int
	// since are the times when the objects that are not Ready were first seen in their state.
	since  map[view.Ref]since
	fields map[fieldID]*field
}

type since struct {
	state report.State
	when  time.Time
}

// fieldID is a field of an object.
type fieldID struct {
	object view.Ref
	path   string
}

// field is a field that differs now and then.
type field struct {
	// differs is true if it differs in the newest view. seen, manager and revision are those of the newest view in
	// which it differed.
	differs  bool
	seen     time.Time
	manager  string
	revision int
	// returns are the times when it differed again. byRelease is true if the release had a new revision before the last
	// of them.
	returns   []time.Time
	byRelease bool
}

// update adds a step.
func (h *history) update(s *view.Step) {
	v := s.After
	present := map[object.DeploymentID]bool{}
	for _, d := range v.Deployments {
		present[d.ID] = true
		if x := h.of(d); x != nil {
			x.update(d, v.Evaluated)
		}
	}
	for i := range s.Transitions {
		t := &s.Transitions[i]
		if x := h.of(t.Deployment); x != nil && t.Vanished() {
			x.vanished++
		}
	}
	for i := range s.Uninstalled {
		u := &s.Uninstalled[i]
		d := u.Last
		if d == nil {
			d = &view.Deployment{Name: u.BundleID,
				ID: object.DeploymentID{Cluster: u.ClusterID, Name: u.BundleID, Release: u.Name}}
		}
		if x := h.of(d); x != nil {
			x.read, x.revision = true, 0
			x.uninstalled[u.Bundle]++
		}
	}
	for id, x := range h.deployments {
		switch {
		case present[id]:
			x.gone = time.Time{}
		case x.gone.IsZero():
			x.gone = v.Evaluated
		case v.Evaluated.Sub(x.gone) > keptAfter:
			h.forget(id)
		}
	}
	h.seen(v)
	h.wrote(v)
}

// of returns what is known of a bundle deployment; nil if it has no series, because there are too many.
func (h *history) of(d *view.Deployment) *deploymentHistory {
	x := h.deployments[d.ID]
	if x != nil && d.Exists {
		h.leave(x)
	}
	if x != nil {
		return x
	}
	namespace := releaseNamespace(d)
	if namespace != "" && !h.admits(namespace) {
		return nil
	}
	x = &deploymentHistory{last: d, namespace: namespace, revision: d.Revision, uninstalled: map[view.Presence]int{},
		fields: map[fieldID]*field{}}
	h.deployments[d.ID] = x
	if namespace != "" {
		h.releases[namespace]++
	}
	return x
}

// seen remembers since when findings exist.
func (h *history) seen(v *view.View) {
	now := make(map[string]time.Time, len(v.Findings))
	for i := range v.Findings {
		id := v.Findings[i].ID
		when, known := h.findings[id]
		if !known {
			when = v.Evaluated
		}
		now[id] = when
	}
	h.findings = now
}

// wrote counts the writes of Fleet's objects.
func (h *history) wrote(v *view.View) {
	now := make(map[fleetID]written, len(v.Fleet))
	for _, o := range v.Fleet {
		id := fleetID{o.Kind, o.Namespace, o.Name}
		w, known := h.writes[id]
		if known && w.version != o.ResourceVersion {
			w.count++
		}
		w.version = o.ResourceVersion
		now[id] = w
	}
	h.writes = now
}

// update adds a view of the bundle deployment.
func (x *deploymentHistory) update(d *view.Deployment, when time.Time) {
	x.last, x.read = d, x.read || d.Read
	switch {
	case d.Revision > x.revision:
		x.revisions += d.Revision - x.revision
	case d.Revision < x.revision: // it was installed again
		x.revisions += d.Revision
	}
	x.revision = d.Revision
	if d.Reason != "" {
		return // its objects are not known
	}
	was := x.since
	x.since = map[view.Ref]since{}
	for _, o := range d.Objects {
		if o.State == report.Ready || o.Expired() {
			continue
		}
		s := was[o.Ref]
		if s.state != o.State {
			s = since{o.State, when}
		}
		x.since[o.Ref] = s
	}
	x.followFields(d, when)
}

// followFields finds fields that differ again after they had the desired value.
func (x *deploymentHistory) followFields(d *view.Deployment, when time.Time) {
	differing, unknown := map[fieldID]bool{}, map[view.Ref]bool{}
	for _, o := range d.Objects {
		if o.State == report.Unknown {
			unknown[o.Ref] = true
		}
		if o.State != report.Modified {
			continue
		}
		for _, c := range o.Detail.Changes {
			id := fieldID{o.Ref, c.Path}
			differing[id] = true
			x.differs(id, c.Manager, when)
		}
	}
	for id, f := range x.fields {
		f.differs = differing[id] || unknown[id.object] && f.differs
		f.returns = slices.DeleteFunc(f.returns, func(t time.Time) bool { return when.Sub(t) > flapsWithin })
		if !f.differs && when.Sub(f.seen) > flapsWithin {
			delete(x.fields, id)
		}
	}
}

// differs adds that a field differs, and who wrote it.
func (x *deploymentHistory) differs(id fieldID, manager string, when time.Time) {
	f := x.fields[id]
	switch {
	case f == nil && len(x.fields) >= maxFields:
		return
	case f == nil:
		f = &field{differs: true}
		x.fields[id] = f
	case !f.differs:
		f.returns, f.byRelease = append(f.returns, when), x.revision > f.revision
	}
	f.differs, f.seen, f.manager, f.revision = true, when, manager, x.revision
}

// flaps returns the fields that returned at least twice, the most frequent ones first.
func (x *deploymentHistory) flaps() []fieldID {
	var out []fieldID
	for id, f := range x.fields {
		if len(f.returns) > 1 {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b fieldID) int {
		return cmp.Or(cmp.Compare(len(x.fields[b].returns), len(x.fields[a].returns)),
			a.object.Value().Compare(b.object.Value()), cmp.Compare(a.path, b.path))
	})
	return out
}

// admits reports whether another bundle deployment of which only the release is known gets series.
func (h *history) admits(namespace string) bool {
	all := 0
	for _, n := range h.releases {
		all += n
	}
	return h.releases[namespace] < maxNamedReleases && all < maxAllNamedReleases
}

// leave records that more than the release of a bundle deployment is known, or that it is gone.
func (h *history) leave(x *deploymentHistory) {
	if x.namespace == "" {
		return
	}
	if h.releases[x.namespace]--; h.releases[x.namespace] == 0 {
		delete(h.releases, x.namespace)
	}
	x.namespace = ""
}

// forget removes a bundle deployment.
func (h *history) forget(id object.DeploymentID) {
	h.leave(h.deployments[id])
	delete(h.deployments, id)
}
