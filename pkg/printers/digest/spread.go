// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
