// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
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
	// truncated is true if the lists of one may be truncated. bulk is true if old versions of Fleet count objects of one in a wrong state, because it is
	// not applied or has extra objects.
	truncated, bulk bool
}

// partsOf returns the bundle deployments of an aggregate; ok is false if not all of them are known, or if a deletion changes them now.
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
		x := in.View(d)
		p.reported, p.actual = append(p.reported, x.Reported), append(p.actual, x.Actual)
		p.countsKnown, p.reportedKnown = p.countsKnown && x.Known, p.reportedKnown && x.ReportedKnown
		p.truncated = p.truncated || len(d.BD.Status.ModifiedStatus) >= fleet.MaxListed || len(d.BD.Status.NonReadyStatus) >= fleet.MaxListed
		p.bulk = p.bulk || x.Reported.State == fleet.WaitApplied || x.Reported.State == fleet.ErrApplied ||
			slices.ContainsFunc(d.BD.Status.ModifiedStatus, func(m v1alpha1.ModifiedStatus) bool { return m.Delete })
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
		c := x.Reported.Counts
		p.quiet = p.quiet && x.Reported.State == fleet.Ready && x.Actual.State == fleet.Ready && c.Ready == c.DesiredReady && asOf != ""
		p.newest = max(p.newest, asOf)
		p.lasting = append(p.lasting, in.lasting(d, x)...)
	}
	return p, true
}

// beingDeleted reports whether a deletion has begun recently. Fleet counts the object until its deletion ends, which can be at any moment. A
// deletion that does not end (FD603) does not change the totals.
func (in *Input) beingDeleted(o v1alpha1.Object) bool {
	at := o.GetDeletionTimestamp()
	return at != nil && !in.LongAgo(at.Time)
}

// number is one number of the status of an aggregate.
type number struct {
	what string // objectsReady, or another noun
	// reported is the number in the status, expected the one that Fleet computes from the statuses of the parts, and actual the one that is true.
	reported, expected, actual share
	// reportedText and actualText are the same with details.
	reportedText, actualText string
}

// The nouns of numbers.
const (
	objectsReady     = "objects ready"
	deploymentsReady = "bundle deployments ready"
	clustersReady    = "clusters ready"
)

// of returns a number without details.
func of(what string, reported, expected, actual share) number {
	return number{what: what, reported: reported, expected: expected, actual: actual, reportedText: reported.String(), actualText: actual.String()}
}

// wrongCounts returns the number of objects of an aggregate if it is wrong.
func wrongCounts(reported *v1alpha1.ResourceCounts, expected, actual v1alpha1.ResourceCounts, p *parts) []number {
	if reported == nil || !p.countsKnown || facts.Alike(*reported, actual) {
		return nil
	}
	n := of(objectsReady, shareOf(*reported), shareOf(expected), shareOf(actual))
	if n.reported == n.actual {
		n.reportedText, n.actualText = detailed(*reported), detailed(actual)
	}
	if p.reportedKnown && n.reported == n.expected && !facts.Alike(*reported, expected) {
		n.expected = share{-1, -1} // the shares are the same, but the details are not
	}
	return []number{n}
}

// wrongSummary returns the number of bundle deployments of an aggregate if it is wrong.
func wrongSummary(reported *v1alpha1.Summary, expected, actual v1alpha1.Summary) []number {
	if n := of(deploymentsReady, shareOfSummary(*reported), shareOfSummary(expected), shareOfSummary(actual)); n.reported != n.actual {
		return []number{n}
	}
	return nil
}

// totals describes an aggregate whose numbers are compared.
type totals struct {
	*evaluate.Aggregate
	kind    string // "cluster "
	partsAs string // "its bundle deployments"
	parts   *parts
	// bugs returns the known bugs of some versions of the controller that can make a number wrong.
	bugs func(n number) []*fleet.Bug
	// recomputed is a time at which Fleet certainly computed the numbers; empty if none is known.
	recomputed string
	lag        string // why the numbers can be old, as a sentence
	cluster    *v1alpha1.Cluster
	why        facts.Explanation // if it is known already
	// bundles are those of which the targets are compared.
	bundles []*v1alpha1.Bundle
}

// reportWrong reports the wrong numbers of an aggregate in one finding.
func (in *Input) reportWrong(t totals, wrong []number, f Finding, report func(Finding)) {
	if len(wrong) == 0 {
		return
	}
	var lines []string
	for i, n := range wrong {
		line := fmt.Sprintf("reports %s %s, but the number computed from %s is %s", n.reportedText, n.what,
			t.partsAs, n.actualText)
		if i > 0 {
			line = fmt.Sprintf("it also reports %s %s, but the computed number is %s", n.reportedText, n.what, n.actualText)
		}
		lines = append(lines, line)
	}
	why := in.whyTotal(t, wrong)
	r := t.Object.Reported()
	f.Object, f.AsOf, f.Cause = facts.RefOf(t.Aggregate), r.AsOf, why.Cause
	f.Compares = t.compares(why.Cause)
	f.Message = t.kind + t.Key() + " " + lines[0] + ": " + why.Words
	f.Evidence = append(lines[1:], f.Evidence...)
	if p := t.parts; p.unread > 0 {
		age := ""
		if p.oldest != "" {
			age = ", the oldest of " + p.oldest
		}
		f.Evidence = append(f.Evidence, fmt.Sprintf("the objects of %d of %s were not read: the computed number is "+
			"based on their statuses%s", p.unread, facts.Count(len(p.actual), "bundle deployment"), age))
	}
	if _, known := fleet.ParseVersion(in.Desired.ControllerVersion); !known && why.Cause == facts.Lag && len(t.bugsOf(wrong[0])) > 0 {
		f.Evidence = append(f.Evidence, "the version of Fleet's controller is not known: it may have a known bug")
	}
	report(f)
}

// compares returns the objects of which numbers are compared, if Fleet may be about to correct a difference of this cause.
func (t *totals) compares(cause facts.Cause) []object.Ref {
	if cause != facts.Lag && cause != facts.PendingRollout {
		return nil
	}
	out := []object.Ref{facts.RefOf(t.Aggregate)}
	for _, b := range t.bundles {
		out = append(out, facts.Ref(state.Bundle, b.Namespace, b.Name))
	}
	if t.Kind == state.ClusterGroup {
		for _, c := range t.Clusters {
			out = append(out, facts.RefOf(c))
		}
		return out
	}
	for _, d := range t.BundleDeployments {
		out = append(out, d.Ref())
	}
	return out
}

// whyTotal explains why numbers of an aggregate are wrong.
func (in *Input) whyTotal(t totals, wrong []number) facts.Explanation {
	p, n := t.parts, wrong[0]
	if t.why.Cause != "" {
		return t.why
	}
	if n.reported == n.expected && p.wrong != nil {
		return in.wrongPart(p.wrong)
	}
	controller := in.Desired.ControllerVersion
	for _, b := range t.bugsOf(n) {
		if !b.In(controller) {
			continue
		}
		why := facts.OfBug(b, "the controller's version", controller)
		if b == &fleet.BugTruncatedCounts && p.truncated {
			why.Cause = facts.Truncated
		}
		return why
	}
	if in.Silent(t.cluster) {
		return facts.SilentWords(t.cluster)
	}
	// A deleted bundle deployment leaves no time behind. Without one, ready deployments show when they last changed.
	if p.quiet && len(p.actual) > 0 && n.reported.desired <= n.actual.desired && in.LongAgo(facts.Parsed(p.newest)) &&
		(t.Kind != state.ClusterKind || facts.Parsed(t.recomputed).Sub(facts.Parsed(p.newest)) > facts.Settled && in.LongAgo(facts.Parsed(t.recomputed))) {
		return facts.Explanation{Cause: facts.Unexplained, Words: "its bundle deployments have not changed since " + p.newest}
	}
	if l, ok := t.lasting(n); ok {
		return facts.Explanation{Cause: facts.Unexplained, Words: l.key + " has not been ready since " + l.since}
	}
	return facts.Explanation{Cause: facts.Lag, Words: t.lag}
}

// wrongPart explains a total by the wrong status of one of its bundle deployments.
func (in *Input) wrongPart(d *evaluate.BundleDeployment) facts.Explanation {
	a := in.View(d)
	what, code := "counts", "FD201"
	if a.Claim != "" {
		what = "state"
	}
	if ofOtherDeployment(d) {
		code = "FD208"
	}
	return facts.Explanation{Cause: a.Why.Cause, Words: fmt.Sprintf("it adds up the wrong %s of %s (%s)", what, d.Key(), code)}
}

// bugsOf returns the known bugs that can make a number wrong, other than by its parts.
func (t *totals) bugsOf(n number) []*fleet.Bug {
	if t.bugs == nil || n.reported == n.expected {
		return nil
	}
	return t.bugs(n)
}

// newTotals returns what the aggregates have in common.
func newTotals(a *evaluate.Aggregate, kind string, p *parts) totals {
	return totals{Aggregate: a, kind: kind, partsAs: "its bundle deployments", parts: p, lag: "Fleet updates this number some seconds after a bundle deployment changes"}
}

// written reports whether Fleet has ever written the status of an aggregate.
func written(a *evaluate.Aggregate) bool {
	r := a.Object.Reported()
	return r.AsOf != "" || r.Summary != nil && (r.Summary.DesiredReady > 0 || r.Summary.Ready > 0)
}
