// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
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
	of := "an unknown number"
	c, known := in.fleetCounts(d)
	total := max(c.Missing+c.Modified+c.Orphaned, c.NotReady)
	switch {
	case known && total > longest:
		of = strconv.Itoa(total)
	case known && s.ResourceCounts != nil:
		return "" // it was truncated once, and is complete again
	}
	return fmt.Sprintf("lists %d objects of %s", longest, of)
}
