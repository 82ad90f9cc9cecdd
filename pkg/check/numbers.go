// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
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
