// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// share is a number of ready ones and a number of desired ones.
type share struct{ ready, desired int }

func (s share) String() string { return fmt.Sprintf("%d/%d", s.ready, s.desired) }

func shareOf(c v1alpha1.ResourceCounts) share { return share{c.Ready, c.DesiredReady} }

func shareOfSummary(s v1alpha1.Summary) share { return share{s.Ready, s.DesiredReady} }

// inWords returns the counts of the objects that are not ready, in parentheses; empty if all are ready.
func inWords(c v1alpha1.ResourceCounts) string {
	var out []string
	for _, n := range []struct {
		n    int
		word string
	}{{c.Missing, "missing"}, {c.Modified, "modified"}, {c.NotReady, "not ready"}, {c.WaitApplied,
		"waiting"}, {c.Unknown, "unknown"}} {
		if n.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// detailed returns the share of ready objects, with the counts of the others.
func detailed(c v1alpha1.ResourceCounts) string { return shareOf(c).String() + inWords(c) }

// number is one number of the status of an aggregate.
type number struct {
	what string // objectsReady, or another noun
	// reported is the number in the status, expected the one that Fleet computes from the statuses of the parts, and
	// actual the one that is true.
	reported, expected, actual share
	// reportedText and actualText are the same with details.
	reportedText, actualText string
	// bugs are the known bugs of some versions of the controller that can make the number wrong.
	bugs []*fleet.Bug
}

// possibleBugs returns the bugs if the number is wrong by more than by its parts.
func (n number) possibleBugs() []*fleet.Bug {
	if n.reported == n.expected {
		return nil
	}
	return n.bugs
}

// The nouns of numbers.
const (
	objectsReady     = "objects ready"
	deploymentsReady = "bundle deployments ready"
	clustersReady    = "clusters ready"
)

// of returns a number without details.
func of(what string, reported, expected, actual share) number {
	return number{what: what, reported: reported, expected: expected, actual: actual, reportedText: reported.String(),
		actualText: actual.String()}
}

// objects returns a number of objects. Some versions count the entries of truncated lists.
func (p *parts) objects(reported, expected, actual share) number {
	n := of(objectsReady, reported, expected, actual)
	if p.truncated || p.bulk {
		n.bugs = []*fleet.Bug{&fleet.BugTruncatedCounts}
	}
	return n
}

// wrongCounts returns the number of objects of an aggregate if it is wrong.
func wrongCounts(reported *v1alpha1.ResourceCounts, expected, actual v1alpha1.ResourceCounts, p *parts) []number {
	if reported == nil || !p.countsKnown || facts.Alike(*reported, actual) {
		return nil
	}
	n := p.objects(shareOf(*reported), shareOf(expected), shareOf(actual))
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
	if n := of(deploymentsReady, shareOfSummary(*reported), shareOfSummary(expected),
		shareOfSummary(actual)); n.reported != n.actual {
		return []number{n}
	}
	return nil
}

func (in *Input) deploymentCounts(out *found, d *evaluate.BundleDeployment) {
	a := in.Facts.View(d)
	if a.Why.Cause == "" || ofOtherDeployment(d) {
		return // FD208 reports a status of another deployment id
	}
	f := onDeployment(d, "%s %s: %s", d.Key(), difference(a, d.BD), a.Why.Words)
	if f.Cause = a.Why.Cause; f.Cause == facts.Lag {
		f.Settle, f.Pauses = in.Facts.SameNumbers(d.Ref()), 1
	}
	f.Follows = in.originsOfCounts(d, f.Cause)
	if n := d.Counts.Unowned; n > 0 {
		f.say("unowned objects, which Fleet counts as missing: %d", n)
	}
	version := cmp.Or(d.AgentVersion, "not known")
	f.say("the agent's version is %s", version)
	out.report(f, in.Steps.Commands.Describe(d.Ref()))
}

// ofOtherDeployment reports whether the status is that of another deployment id, or may be.
func ofOtherDeployment(d *evaluate.BundleDeployment) bool {
	return d.State == evaluate.WaitApplied || d.State == evaluate.ErrApplied
}

// difference describes what a status reports of its objects, and what they are.
func difference(a *facts.View, bd *v1alpha1.BundleDeployment) string {
	reported, actual := shareOf(a.Reported.Counts).String(), shareOf(a.Actual.Counts).String()
	if reported == actual {
		reported = detailed(a.Reported.Counts) // only the details differ
	}
	switch details := inWords(a.Actual.Counts); {
	case a.Claim != "":
		return fmt.Sprintf("reports %s, but %s objects are ready%s", a.Claim, actual, details)
	case bd.Status.ResourceCounts == nil:
		return fmt.Sprintf("lists %s objects as ready, %s are%s", reported, actual, details)
	default:
		return fmt.Sprintf("reports %s objects ready, %s are%s", reported, actual, details)
	}
}

// fleetCounts returns the counts in the status of a bundle deployment. Before Fleet 0.12 there are none; then it
// returns the counts as the agent would compute them. known is false if neither is known.
func (in *Input) fleetCounts(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
	if a := in.Facts.View(d); !a.ReportedKnown {
		return a.Actual.Counts, a.Known
	}
	return in.Facts.View(d).Reported.Counts, true
}

// originsOfCounts returns the findings from which wrong counts of a bundle deployment follow.
func (in *Input) originsOfCounts(d *evaluate.BundleDeployment, why facts.Cause) []Origin {
	switch why {
	case facts.Lag:
		return notReadyOrigins(&d.Deployment)
	case facts.StaleAgent:
		if a, known := in.Facts.AgentOf(d.Namespace); known {
			return silentOrigins(a.Cluster)
		}
	}
	return nil
}

func (in *Input) truncated(out *found, d *evaluate.BundleDeployment) {
	if d.BD == nil {
		return
	}
	lists := in.truncation(d)
	if lists == "" {
		return
	}
	f := onDeployment(d, "the status of %s %s", d.Key(), lists)
	out.report(f, remedy.Run(in.Steps.Commands.Audit+" "+in.Steps.Commands.BundleArgs(&d.Deployment)+" -o wide",
		"lists all of the objects that the audit read"))
}

// truncation is how many of its objects the status of a bundle deployment lists, as the end of a sentence; empty if its
// lists are complete.
func (in *Input) truncation(d *evaluate.BundleDeployment) string {
	s := d.BD.Status
	longest := max(len(s.ModifiedStatus), len(s.NonReadyStatus))
	if longest < fleet.MaxListed || s.ResourceCounts != nil && !s.IncompleteState {
		return ""
	}
	number := "an unknown number"
	c, known := in.fleetCounts(d)
	total := max(c.Missing+c.Modified+c.Orphaned, c.NotReady)
	switch {
	case known && total > longest:
		number = strconv.Itoa(total)
	case known && s.ResourceCounts != nil:
		return "" // it was truncated once, and is complete again
	}
	return fmt.Sprintf("lists %d objects of %s", longest, number)
}

// expectedClusters compares the deployments of a GitRepo or HelmOp with those that the targets of its bundles expect.
type expectedClusters struct {
	// members are the deployments that are expected. Those that do not exist are Pending.
	members []fleet.Member
	// pending, absent and leftover describe the deployments that differ.
	pending, absent, leftover []string
}

func (x *expectedClusters) differs() bool { return len(x.pending)+len(x.absent)+len(x.leftover) > 0 }

// why explains why Fleet counts other clusters than those that are targeted.
func (x *expectedClusters) why() facts.Explanation {
	switch {
	case len(x.absent) > 0:
		return facts.Explanation{Cause: facts.Unexplained,
			Words: fmt.Sprintf("%s not exist, such as that of %s (FD302)",
				doNot(len(x.absent), "targeted bundle deployment"), x.absent[0])}
	case len(x.leftover) > 0:
		return facts.Explanation{Cause: facts.Unexplained,
			Words: fmt.Sprintf("it counts %s, such as %s (FD301)",
				facts.Count(len(x.leftover), "leftover bundle deployment"), x.leftover[0])}
	}
	return facts.Explanation{Cause: facts.PendingRollout,
		Words: fmt.Sprintf("the rollout of %s has not reached %s", x.pending[0],
			facts.Count(len(x.pending), "targeted bundle deployment"))}
}

func doNot(n int, what string) string {
	if n == 1 {
		return facts.Count(n, what) + " does"
	}
	return facts.Count(n, what) + " do"
}

// expectedOf returns the deployments of a GitRepo or HelmOp that the targets of its bundles expect. actual are those
// that exist, in the order of the aggregate. known is false if a target, or the reason for which a deployment does not
// exist, is not certain.
func (in *Input) expectedOf(a *evaluate.Aggregate, actual []fleet.Member,
	bundles []*v1alpha1.Bundle) (out expectedClusters, known bool) {
	for i, d := range a.BundleDeployments {
		left, certain := in.Facts.LeftOver(d)
		if !certain {
			return out, false
		}
		if left {
			out.leftover = append(out.leftover, d.Key())
			continue
		}
		out.members = append(out.members, actual[i])
	}
	for _, b := range bundles {
		if facts.Deleting(b) || !in.addExpected(&out, b) {
			return out, false
		}
	}
	return out, true
}

// addExpected adds the targeted deployments of a bundle that do not exist. It returns false if the targets are not
// certain. If a BundleNamespaceMapping may add clusters, the number of targets that the Bundle reports must confirm
// that none does.
func (in *Input) addExpected(out *expectedClusters, b *v1alpha1.Bundle) bool {
	t, targeted, unmapped := in.Facts.Targets(b), 0, false
	for r := range t.Results() {
		c := r.Cluster.Cluster
		exists := in.Facts.BundleDeployment(c.Status.Namespace+"/"+b.Name) != nil
		switch r.Outcome {
		case targeting.Expected, targeting.Blocked:
			targeted++
		case targeting.Unknown:
			if exists {
				targeted++
			}
		}
		switch {
		case exists, facts.Deleting(c):
		case r.Outcome == targeting.Excluded, r.Outcome == targeting.Blocked:
		case r.Reason == targeting.MappingsUnread:
			unmapped = true
		case r.Outcome == targeting.Unknown || !in.addAbsent(out, b, c):
			return false
		}
	}
	if t.Complete() && !unmapped {
		return true
	}
	confirmed := targeted > 0 && b.Status.Summary.DesiredReady == targeted
	return confirmed && in.Facts.Read(state.ClusterKind, b.Namespace)
}

// addAbsent adds a targeted deployment that does not exist. It returns false if it is not certain why it does not.
func (in *Input) addAbsent(out *expectedClusters, b *v1alpha1.Bundle, c *v1alpha1.Cluster) bool {
	inRollout := facts.Observed(b) && b.Status.Summary.Pending > 0
	switch {
	case !in.lacks(b, c):
		return false
	case !in.rolloutPending(b):
		out.absent = append(out.absent, "bundle "+facts.Key(b)+" on cluster "+facts.Key(c))
	case inRollout && !facts.Failed(b) && !unresolvedChart(b):
		out.pending = append(out.pending, "bundle "+facts.Key(b))
	default:
		return false
	}
	out.members = append(out.members, fleet.Member{Name: c.Status.Namespace + "/" + b.Name, Cluster: facts.Key(c),
		State: fleet.Pending})
	return true
}

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
	when := o.GetDeletionTimestamp()
	return when != nil && !in.Facts.LongAgo(when.Time)
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
	c := v1alpha1.ConditionOf(d.BD.Status.Conditions, "Ready")
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
