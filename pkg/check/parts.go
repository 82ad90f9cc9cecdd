// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// parts are all bundle deployments of an aggregate, in Fleet's own terms.
type parts struct {
	// reported are the members as their statuses report them, actual as they are.
	reported, actual []fleet.Member
	// countsKnown is true if the actual object counts of all are known, reportedKnown if the reported ones are.
	countsKnown, reportedKnown bool
	// wrong is the first one that reports other counts than the actual ones.
	wrong *evaluate.BundleDeployment
	// unread is the number of those of which only the status is known, and oldest is the oldest time of these statuses.
	unread int
	oldest string
	// quiet is true if all are ready, also according to their statuses. newest is then the time of their last change.
	quiet  bool
	newest string
	// lasting are those that have not been ready for longer than any delay of Fleet.
	lasting []lasting
	// truncated is true if the lists of one may be truncated. bulk is true if old versions of Fleet count objects of
	// one in a wrong state, because it is not applied or has extra objects.
	truncated, bulk bool
}

// partsOf returns the bundle deployments of an aggregate; ok is false if not all of them are known, or if a deletion
// changes them now.
func (in *Input) partsOf(a *evaluate.Aggregate) (p parts, ok bool) {
	known := a.Listed && a.All == len(a.BundleDeployments)
	if !a.InScope || !known || facts.Deleting(a.Object) {
		return p, false
	}
	p.countsKnown, p.reportedKnown, p.quiet = true, true, true
	for _, d := range a.BundleDeployments {
		if d.BD == nil || d.FromFiles() || in.beingDeleted(d.BD) {
			return p, false // a total with an unknown part proves nothing
		}
		x := in.Facts.View(d)
		p.reported, p.actual = append(p.reported, x.Reported), append(p.actual, x.Actual)
		p.countsKnown, p.reportedKnown = p.countsKnown && x.Known, p.reportedKnown && x.ReportedKnown
		p.truncated = p.truncated || full(&d.BD.Status)
		p.bulk = p.bulk || inBulk(d.BD, x.Reported.State)
		if x.Why.Cause != "" && p.wrong == nil {
			p.wrong = d
		}
		asOf := d.BD.Reported().AsOf
		if !x.Live && d.Problem != directory.NoReleaseRecord {
			if p.unread == 0 || asOf < p.oldest {
				p.oldest = asOf
			}
			p.unread++
		}
		p.quiet = p.quiet && isReady(x) && asOf != ""
		p.newest = max(p.newest, asOf)
		p.lasting = append(p.lasting, in.lasting(d, x)...)
	}
	return p, true
}

// full reports whether a list of a status has as many entries as Fleet writes.
func full(s *v1alpha1.BundleDeploymentStatus) bool {
	return len(s.ModifiedStatus) >= fleet.MaxListed || len(s.NonReadyStatus) >= fleet.MaxListed
}

// inBulk reports whether old versions of Fleet count objects of a bundle deployment in a wrong state.
func inBulk(bd *v1alpha1.BundleDeployment, reported fleet.BundleState) bool {
	if reported == fleet.WaitApplied || reported == fleet.ErrApplied {
		return true
	}
	return slices.ContainsFunc(bd.Status.ModifiedStatus, func(m v1alpha1.ModifiedStatus) bool { return m.Delete })
}

// isReady reports whether a bundle deployment is ready, also according to its status.
func isReady(x *facts.View) bool {
	c := x.Reported.Counts
	return x.Reported.State == fleet.Ready && x.Actual.State == fleet.Ready && c.Ready == c.DesiredReady
}

// beingDeleted reports whether a deletion has begun recently. Fleet counts the object until its deletion ends, which
// can be at any moment. A deletion that does not end (FD603) does not change the totals.
func (in *Input) beingDeleted(o v1alpha1.Object) bool {
	at := o.GetDeletionTimestamp()
	return at != nil && !in.Facts.LongAgo(at.Time)
}

// lasting is a bundle deployment that has not been ready for longer than any delay of Fleet.
type lasting struct {
	key, cluster string // "namespace/name"
	since        string
	// triggers is true if its last change made Fleet compute its Cluster again: a change of readiness does, a modified
	// object does not.
	triggers bool
	// empty is true if it was never applied: it counts no object.
	empty bool
}

// lasting returns a bundle deployment if it has never been applied, or if its condition Ready has been False, for a
// long time. Others that wait are left out: nothing shows since when they do.
func (in *Input) lasting(d *evaluate.BundleDeployment, x *facts.View) []lasting {
	out := lasting{key: d.Key(), cluster: x.Reported.Cluster}
	c := facts.ConditionOf(d.BD.Status.Conditions, "Ready")
	switch s := x.Reported.State; {
	case d.BD.Status.AppliedDeploymentID == "" && s == fleet.WaitApplied && !d.BD.CreationTimestamp.IsZero():
		out.since, out.triggers, out.empty = facts.Time(d.BD.CreationTimestamp.Time), true, true
	case c.Status == "False" && (s == fleet.NotReady || s == fleet.Modified):
		out.since, out.triggers = c.LastUpdateTime, s == fleet.NotReady
	}
	if !in.Facts.LongAgo(facts.Parsed(out.since)) {
		return nil
	}
	return []lasting{out}
}
