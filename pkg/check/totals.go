// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// totals describes an aggregate whose numbers are compared.
type totals struct {
	*evaluate.Aggregate
	comparison
	parts *parts
	why   facts.Explanation // if it is known already
	// bundles are those of which the targets are compared.
	bundles []*v1alpha1.Bundle
}

// comparison is what the status of an aggregate counts, and how it is computed again (FD202 to FD206).
type comparison struct {
	// of is what the numbers are computed from, lag is why they can be old.
	what, lag string
	// parts returns what the numbers are computed from; ok is false if not all of it is known.
	parts func(*Input, *evaluate.Aggregate) (p parts, ok bool)
	// wrong returns the numbers that are wrong, and completes the finding about them.
	wrong func(*Input, *totals, *Finding) []number
}

// check reports the wrong numbers of an aggregate.
func (c comparison) check(in *Input, out *found, a *evaluate.Aggregate) {
	p, ok := c.parts(in, a)
	if !ok {
		return
	}
	t := &totals{Aggregate: a, comparison: c, parts: &p}
	f := Finding{Remedies: []remedy.Remedy{in.Steps.Commands.Describe(facts.RefOf(a))}}
	if wrong := c.wrong(in, t, &f); len(wrong) > 0 {
		out.report(in.wrongTotals(t, wrong, f))
	}
}

// wrongTotals completes the finding about the wrong numbers of an aggregate.
func (in *Input) wrongTotals(t *totals, wrong []number, f Finding) Finding {
	var lines []string
	for _, n := range wrong[1:] {
		lines = append(lines, fmt.Sprintf("it also reports %s %s, but the computed number is %s", n.reportedText,
			n.what, n.actualText))
	}
	why := in.whyTotal(t, wrong)
	r := t.Object.Reported()
	f.Object, f.AsOf, f.Cause = facts.RefOf(t.Aggregate), r.AsOf, why.Cause
	f.Follows = originsOfTotal(t, wrong[0], why.Cause)
	if why.Cause == facts.Lag || why.Cause == facts.PendingRollout {
		f.Settle, f.Pauses = in.Facts.SameNumbers(t.counted()...), in.pausesFor(t, why.Cause)
	}
	f.Message = fmt.Sprintf("%s reports %s %s, but the number computed from %s is %s: %s", noun(t.Aggregate),
		wrong[0].reportedText, wrong[0].what, t.what, wrong[0].actualText, why.Words)
	f.Evidence = append(lines, f.Evidence...)
	if p := t.parts; p.unread > 0 {
		age := ""
		if p.oldest != "" {
			age = ", the oldest of " + p.oldest
		}
		f.say("the objects of %d of %s were not read: the computed number is "+
			"based on their statuses%s", p.unread, facts.Count(len(p.actual), "bundle deployment"), age)
	}
	if _, known := fleet.ParseVersion(in.Result.Desired.ControllerVersion); !known && why.Cause == facts.Lag &&
		len(wrong[0].possibleBugs()) > 0 {
		f.say("the version of Fleet's controller is not known: it may have a known bug")
	}
	return f
}

// pausesOf returns after how many pauses of five seconds wrong numbers of a kind last. A GitRepo follows its Bundles
// within about ten seconds (docs/fleet-behavior.md, 4.5). The numbers of Clusters follow a heartbeat of the agent, for
// which nobody waits.
func pausesOf(kind string) int {
	switch kind {
	case state.GitRepo:
		return 2
	case state.ClusterKind, state.ClusterGroup:
		return 0
	}
	return 1
}

// pausesFor is pausesOf for the cause of wrong numbers. A rollout that has not moved for as long as the pauses last
// does not move because somebody waits for it.
func (in *Input) pausesFor(t *totals, cause facts.Cause) int {
	n := pausesOf(t.Kind)
	moves := func(b *v1alpha1.Bundle) bool {
		return !in.Facts.Passed(facts.Parsed(b.Reported().AsOf), time.Duration(n)*pauseLength)
	}
	if cause == facts.PendingRollout && !slices.ContainsFunc(t.bundles, moves) {
		return 0
	}
	return n
}

// pauseLength is the length of a pause before numbers are read again.
const pauseLength = 5 * time.Second

// counted returns the objects of which numbers are compared.
func (t *totals) counted() []object.Ref {
	out := []object.Ref{facts.RefOf(t.Aggregate)}
	for _, b := range t.bundles {
		out = append(out, facts.RefTo(b))
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
func (in *Input) whyTotal(t *totals, wrong []number) facts.Explanation {
	p, n := t.parts, wrong[0]
	if t.why.Cause != "" {
		return t.why
	}
	if d := t.wrongPart(n); d != nil {
		return in.whyPart(d)
	}
	controller := in.Result.Desired.ControllerVersion
	for _, b := range n.possibleBugs() {
		if !b.In(controller) {
			continue
		}
		why := facts.OfBug(b, "the controller's version", controller)
		if b == &fleet.BugTruncatedCounts && p.truncated {
			why.Cause = facts.Truncated
		}
		return why
	}
	if c, ok := t.Object.(*v1alpha1.Cluster); ok && in.Facts.Silent(c) {
		return facts.SilentWords(c)
	}
	if n.reported.desired <= n.actual.desired && in.unchanged(t) {
		return facts.Explanation{Cause: facts.Unexplained,
			Words: "its bundle deployments have not changed since " + p.newest}
	}
	if l, ok := t.lasting(n); ok {
		return facts.Explanation{Cause: facts.Unexplained, Words: l.key + " has not been ready since " + l.since}
	}
	return facts.Explanation{Cause: facts.Lag, Words: t.lag}
}

// unchanged reports whether Fleet has had the time to compute the numbers again. A deleted bundle deployment leaves no
// time behind; without one, ready deployments show when they last changed.
func (in *Input) unchanged(t *totals) bool {
	newest := facts.Parsed(t.parts.newest)
	if !t.parts.quiet || len(t.parts.actual) == 0 || !in.Facts.LongAgo(newest) {
		return false
	}
	c, ok := t.Object.(*v1alpha1.Cluster)
	if !ok {
		return true
	}
	recomputed := facts.Parsed(c.Status.Agent.LastSeen) // the heartbeat updates the numbers
	return recomputed.Sub(newest) > facts.Settled && in.Facts.LongAgo(recomputed)
}

// wrongPart returns the bundle deployment that reports a wrong number which Fleet adds up correctly; nil if none does.
func (t *totals) wrongPart(n number) *evaluate.BundleDeployment {
	if t.why.Cause != "" || n.reported != n.expected {
		return nil
	}
	return t.parts.wrong
}

// whyPart explains a total by the wrong status of one of its bundle deployments.
func (in *Input) whyPart(d *evaluate.BundleDeployment) facts.Explanation {
	a := in.Facts.View(d)
	what, code := "counts", codes.DeploymentCounts
	if a.Claim != "" {
		what = "state"
	}
	if ofOtherDeployment(d) {
		code = codes.Frozen
	}
	return facts.Explanation{Cause: a.Why.Cause,
		Words: fmt.Sprintf("it adds up the wrong %s of %s (%s)", what, d.Key(), code)}
}

// lasting returns the last of the bundle deployments that have not been ready for a long time, if an aggregate counts
// so many as ready that it must count one of these. A deployment that was deleted leaves no time behind, so a number of
// more than the desired ones proves nothing.
func (t *totals) lasting(n number) (last lasting, proved bool) {
	bad, clusters := 0, map[string]bool{}
	for _, l := range t.parts.lasting {
		switch {
		case t.Kind == state.ClusterKind && !l.triggers, l.empty && n.what == objectsReady:
		case n.what == clustersReady && (clusters[l.cluster] || l.cluster == ""):
		default:
			bad, clusters[l.cluster] = bad+1, true
			if facts.Parsed(l.since).After(facts.Parsed(last.since)) {
				last = l
			}
		}
	}
	known := n.what == objectsReady || n.what == deploymentsReady || n.what == clustersReady
	if !known || bad == 0 || n.reported.desired > n.actual.desired {
		return last, false
	}
	return last, n.reported.ready > n.actual.desired-bad
}

// written reports whether Fleet has ever written the status of an aggregate.
func written(a *evaluate.Aggregate) bool {
	r := a.Object.Reported()
	if r.AsOf != "" || r.Summary == nil {
		return r.AsOf != ""
	}
	return r.Summary.DesiredReady > 0 || r.Summary.Ready > 0
}

// noun returns the kind and the name of an aggregate in a sentence: "cluster group team/edge".
func noun(a *evaluate.Aggregate) string {
	if a.Kind == state.ClusterGroup {
		return "cluster group " + a.Key()
	}
	return strings.ToLower(a.Kind) + " " + a.Key()
}

// originsOfTotal returns the findings from which a wrong number of an aggregate follows.
func originsOfTotal(t *totals, n number, why facts.Cause) []Origin {
	if d := t.wrongPart(n); d != nil {
		return originsAt(&d.Deployment, codes.DeploymentCounts, codes.Frozen)
	}
	c, isCluster := t.Object.(*v1alpha1.Cluster)
	switch {
	case why == facts.StaleAgent && isCluster:
		return silentOrigins(c)
	case why != facts.Lag:
		return nil
	}
	var out []Origin
	for _, d := range t.BundleDeployments {
		out = append(out, originsAt(&d.Deployment, codes.DeploymentCounts)...)
		if d.State != evaluate.Ready {
			out = append(out, notReadyOrigins(&d.Deployment)...)
		}
	}
	return out
}

// wrongOfRepo returns the wrong numbers of a GitRepo or HelmOp: its objects, on all clusters and on each, and its
// bundle deployments.
func (in *Input) wrongOfRepo(t *totals, f *Finding) []number {
	s := facts.StatusOf(t.Object)
	if s == nil || !written(t.Aggregate) {
		return nil
	}
	reported, actual := fleet.TotalsOfRepo(t.parts.reported), fleet.TotalsOfRepo(t.parts.actual)
	wrong := slices.Concat(wrongCounts(s.ResourceCounts, reported.Counts, actual.Counts, t.parts),
		wrongSummary(&s.Summary, reported.Summary, actual.Summary))
	clusters := wrongClusters(s, actual, t.parts)
	switch {
	case len(wrong) > 0 && len(actual.PerCluster) > 1:
		f.Evidence = clusters
	case len(wrong) == 0 && len(clusters) > 0 && s.ResourceCounts != nil:
		wrong = []number{t.parts.objects(shareOf(*s.ResourceCounts), share{-1, -1}, shareOf(actual.Counts))}
		wrong[0].actualText += ", but the counts of single clusters differ"
		f.Evidence = clusters
	}
	return wrong
}

// wrongClusters describes the clusters of which a GitRepo or HelmOp reports wrong counts.
func wrongClusters(s *v1alpha1.Status, actual fleet.RepoTotals, p *parts) []string {
	if s.PerCluster == nil || !p.countsKnown {
		return nil
	}
	all := maps.Clone(actual.PerCluster)
	for c := range s.PerCluster {
		all[c] = actual.PerCluster[c]
	}
	var out []string
	for _, c := range slices.Sorted(maps.Keys(all)) {
		if reported := s.PerCluster[c]; !facts.Alike(reported, all[c]) {
			out = append(out, fmt.Sprintf("on cluster %s, it reports %s objects ready%s, %s are%s", c,
				shareOf(reported), inWords(reported), shareOf(all[c]), inWords(all[c])))
		}
	}
	if most := 3; len(out) > most {
		out = append(out[:most], facts.Count(len(out)-most, "more cluster"))
	}
	return out
}

// wrongClustersOfRepo returns the wrong number of ready clusters of a GitRepo or HelmOp.
func (in *Input) wrongClustersOfRepo(t *totals, f *Finding) []number {
	s := facts.StatusOf(t.Object)
	if s == nil || s.DesiredReadyClusters == nil || !written(t.Aggregate) {
		return nil
	}
	n := of(clustersReady, share{s.ReadyClusters, *s.DesiredReadyClusters},
		readyClusters(t.parts.reported), readyClusters(t.parts.actual))
	t.bundles = in.Facts.BundlesOf(facts.RefOf(t.Aggregate))
	if x, known := in.expectedOf(t.Aggregate, t.parts.actual, t.bundles); known && x.differs() {
		t.what = "the clusters that its bundles target"
		if n.reported == n.expected && n.expected == n.actual {
			t.why = x.why()
		} else {
			f.Evidence = []string{x.why().Words}
		}
		n = of(n.what, n.reported, n.expected, readyClusters(x.members))
	}
	if n.reported == n.actual {
		return nil
	}
	n.bugs = []*fleet.Bug{&fleet.BugReadyClusters}
	return []number{n}
}

func readyClusters(members []fleet.Member) share {
	totals := fleet.TotalsOfRepo(members)
	return share{totals.ReadyClusters, totals.DesiredReadyClusters}
}

// stickyList reports the list of objects of a GitRepo or HelmOp in which Fleet calls objects Unknown, because
// incompleteState of a bundle deployment is never reset.
func (in *Input) stickyList(out *found, a *evaluate.Aggregate) {
	if _, ok := in.partsOf(a); !ok || !written(a) {
		return
	}
	unknown := count(facts.StatusOf(a.Object).Resources, func(r v1alpha1.RepoResource) bool {
		return r.State == string(evaluate.Unknown)
	})
	sticky, incomplete := "", false
	for _, d := range a.BundleDeployments {
		switch status := &d.BD.Status; {
		case !status.IncompleteState:
		case full(status):
			incomplete = true
		default:
			sticky = d.Key()
		}
	}
	if unknown == 0 || sticky == "" || incomplete {
		return
	}
	f := Finding{Object: facts.RefOf(a), AsOf: a.Object.Reported().AsOf, Cause: facts.StickyIncomplete, Aspect: "list"}
	f.Message = fmt.Sprintf("%s lists %s as Unknown: incompleteState of %s is still set, although its lists are "+
		"complete", noun(a), facts.Count(unknown, "object"), sticky)
	out.report(f, in.Steps.Commands.Describe(f.Object))
}
