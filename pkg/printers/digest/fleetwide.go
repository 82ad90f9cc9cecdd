// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Fleetwide is the sentence with the numbers of bundle deployments that are not ready: by what Fleet reports, and on
// the clusters that were read. It is empty if all clusters were read.
func Fleetwide(a *report.Audit) string {
	var all, here tallies
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		all.add(bd)
		if !Unread(bd) {
			here.add(bd)
		}
	}
	if here.n == all.n {
		return ""
	}
	out := fmt.Sprintf("%d of %s on %s %s not ready, as Fleet reports", all.reported,
		report.Plural(all.n, "bundle deployment"), report.Plural(len(all.clusters), "cluster"), be(all.reported))
	if all.silent > 0 {
		out += fmt.Sprintf(", and %d %s no status", all.silent, Form(all.silent, "has", "have"))
	}
	if here.n == 0 {
		return out + ". No cluster was read."
	}
	return out + fmt.Sprintf(". %s %s read: %d of %d %s not ready there (%s)%s, Fleet reports %d.",
		report.Plural(len(here.clusters), "cluster"), Form(len(here.clusters), "was", "were"), here.notReady, here.n,
		be(here.notReady), readyObjects(a.Summary.Counts)+otherObjects(a.Summary.Counts), here.withoutResult(),
		here.reported)
}

// tallies count bundle deployments.
type tallies struct {
	n        int // all of them
	notReady int // those that are not ready
	unknown  int // those without a result
	reported int // those that Fleet reports as not ready
	silent   int // those without a status
	clusters map[string]bool
}

func (t *tallies) add(bd *report.BundleDeployment) {
	if t.clusters == nil {
		t.clusters = map[string]bool{}
	}
	t.n++
	t.clusters[bd.Cluster] = true
	switch {
	case bd.WithoutResult():
		t.unknown++
	case bd.State != report.Ready:
		t.notReady++
	}
	switch {
	case bd.Reported == nil || bd.Reported.State == "":
		t.silent++
	case bd.Reported.State != string(report.Ready):
		t.reported++
	}
}

// withoutResult says how many bundle deployments have no result; empty if all have one.
func (t *tallies) withoutResult() string {
	if t.unknown == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s no result", t.unknown, Form(t.unknown, "has", "have"))
}

// Elsewhere says that clusters were not read, whose states are those, and how old the heartbeats of their agents are;
// empty if all were read.
func Elsewhere(a *report.Audit) string {
	unread := unreadClusters(a)
	if len(unread) == 0 {
		return ""
	}
	return strings.Join(NonEmpty(fmt.Sprintf("%s %s not read: the states there are those that Fleet reports.",
		report.Plural(len(unread), "cluster"), Form(len(unread), "was", "were")), Heartbeats(a)), " ")
}

// unreadClusters are the clusters that were not read.
func unreadClusters(a *report.Audit) map[string]bool {
	out := map[string]bool{}
	for i := range a.BundleDeployments {
		if bd := &a.BundleDeployments[i]; Unread(bd) {
			out[bd.Cluster] = true
		}
	}
	return out
}

// Heartbeats says how old the heartbeats of the agents are whose clusters were not read; empty if all were read.
func Heartbeats(a *report.Audit) string {
	unread := unreadClusters(a)
	taken, err := time.Parse(time.RFC3339, a.TakenAt)
	if err != nil || len(unread) == 0 {
		return ""
	}
	oldest, name, silent := time.Duration(-1), "", len(unread)
	for _, c := range a.Clusters {
		if c.Reported == nil || !unread[c.Namespace+"/"+c.Name] {
			continue
		}
		seen, err := time.Parse(time.RFC3339, c.Reported.AsOf)
		if err != nil {
			continue
		}
		silent--
		if age := taken.Sub(seen); age > oldest {
			oldest, name = age, c.Name
		}
	}
	if silent == len(unread) {
		return "No heartbeat is known."
	}
	out := fmt.Sprintf("The oldest heartbeat is %s old (%s).", ageOf(oldest), name)
	if silent > 0 {
		out += fmt.Sprintf(" %s %s no heartbeat.", report.Plural(silent, "cluster"), Form(silent, "has", "have"))
	}
	return out
}

// ageOf writes a duration in its largest unit.
func ageOf(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return report.Plural(int(d/day), "day")
	case d >= 2*time.Hour:
		return report.Plural(int(d/time.Hour), "hour")
	}
	return report.Plural(max(0, int(d/time.Minute)), "minute")
}

// Form is the form of a word for n things: the singular or the plural.
func Form(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}

func be(n int) string { return Form(n, "is", "are") }

// readyObjects is the number of ready objects, and otherObjects those of the others by their state.
func readyObjects(c report.Counts) string {
	return fmt.Sprintf("%d of %s ready", c.Ready, report.Plural(c.Desired, "object"))
}

func otherObjects(c report.Counts) string {
	if others := NotReady(c); others != "" {
		return ": " + others
	}
	return ""
}

// NotReady is the number of objects in each state but Ready; empty if there are none.
func NotReady(c report.Counts) string {
	return strings.Join(NonEmpty(Tally(c.Missing, "missing"), Tally(c.Unowned, "unowned"),
		Tally(c.Modified, "modified"), Tally(c.NotReady, "not ready"), Tally(c.Orphaned, "orphaned"),
		Tally(c.Unknown, "unknown")), ", ")
}

// Tally is a number with the words for it; empty for 0.
func Tally(n int, words string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, words)
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Runs splits a list into runs of neighbours with the same key.
func Runs[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for begin, end := 0, 1; begin < len(list); end++ {
			if end < len(list) && key(list[end]) == key(list[begin]) {
				continue
			}
			if !yield(list[begin:end]) {
				return
			}
			begin = end
		}
	}
}

// MaxDetailed is the number of bundle deployments up to which each of them is shown.
const MaxDetailed = 20

// Spread is what the bundle deployments of one bundle, cluster or GitRepo have in common, counted by their states.
type Spread struct {
	Name string // "namespace/name"; empty for those without one
	// States count the bundle deployments. The state of one on a cluster that was not read is the one that Fleet
	// reports.
	States map[report.State]int
	// All are the bundle deployments, Read those on clusters that were read, NotReady those of Read that are not ready.
	All, Read, NotReady int

	members map[report.State][]*report.BundleDeployment
}

// Ready is the number of bundle deployments that are ready.
func (s *Spread) Ready() int { return s.States[report.Ready] }

// Spreads counts bundle deployments by a name of theirs. Those with problems on clusters that were read come first,
// then those with the most problems.
func Spreads(a *report.Audit, by func(*report.BundleDeployment) string) []*Spread {
	named := map[string]*Spread{}
	var out []*Spread
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		s := named[by(bd)]
		if s == nil {
			s = &Spread{Name: by(bd), States: map[report.State]int{},
				members: map[report.State][]*report.BundleDeployment{}}
			named[s.Name] = s
			out = append(out, s)
		}
		s.add(bd)
	}
	slices.SortStableFunc(out, func(x, y *Spread) int {
		return cmp.Or(cmp.Compare(y.NotReady, x.NotReady), cmp.Compare(y.All-y.Ready(), x.All-x.Ready()),
			cmp.Compare(x.Name, y.Name))
	})
	return out
}

func (s *Spread) add(bd *report.BundleDeployment) {
	s.All++
	state := ShownState(bd)
	s.States[state]++
	s.members[state] = append(s.members[state], bd)
	if Unread(bd) {
		return
	}
	s.Read++
	if state != report.Ready {
		s.NotReady++
	}
}

// ClusterNotRead is the reason of a bundle deployment on a cluster that was not read.
const ClusterNotRead = "ClusterNotRead"

// Unread reports whether a bundle deployment is on a cluster that was not read.
func Unread(bd *report.BundleDeployment) bool { return bd.Reason == ClusterNotRead }

// ShownState is the state of a bundle deployment, on a cluster that was not read the one that Fleet reports.
func ShownState(bd *report.BundleDeployment) report.State {
	if Unread(bd) && bd.Reported != nil && bd.Reported.State != "" {
		return report.State(bd.Reported.State)
	}
	return bd.State
}

// states are the states of bundle deployments that are not ready, in the order in which they are shown.
var states = []report.State{report.ErrApplied, report.WaitApplied, report.OutOfSync, report.Missing, report.Unowned,
	report.Modified, report.NotReady, report.Unknown}

// StatesOf are the states but Ready that spreads have, in the order in which they are shown. Fleet may report others
// than those of this package.
func StatesOf(all ...*Spread) []report.State {
	found := map[report.State]bool{}
	for _, s := range all {
		for state := range s.States {
			found[state] = state != report.Ready
		}
	}
	maps.DeleteFunc(found, func(_ report.State, shown bool) bool { return !shown })
	return slices.SortedFunc(maps.Keys(found), func(x, y report.State) int {
		return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x, y))
	})
}

// place is the place of a state among those that are shown; other states come last.
func place(state report.State) int {
	if i := slices.Index(states, state); i >= 0 {
		return i
	}
	return len(states)
}

// Tallies are the numbers of bundle deployments in each state but Ready, such as "2 Modified".
func (s *Spread) Tallies() []string {
	var out []string
	for _, state := range StatesOf(s) {
		out = append(out, fmt.Sprintf("%d %s", s.States[state], state))
	}
	return out
}

// BundleOf is the bundle of a bundle deployment.
func BundleOf(bd *report.BundleDeployment) string { return bd.Bundle }
