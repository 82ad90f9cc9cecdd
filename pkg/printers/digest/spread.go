// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ManyDeployments is the number of bundle deployments above which a document counts them by bundle.
const ManyDeployments = 20

// Spread is what the bundle deployments of one bundle, cluster or GitRepo have in common, counted by their states.
type Spread struct {
	Name string // "namespace/name"; empty for those without one
	// States count the bundle deployments. The state of one on a cluster that was not read is the one that Fleet
	// reports.
	States map[report.State]int
	// All are the bundle deployments, Read those on clusters that were read, NotReady those of Read that are not ready.
	All, Read, NotReady int
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
			s = &Spread{Name: by(bd), States: map[report.State]int{}}
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
	if Unread(bd) {
		return
	}
	s.Read++
	if state != report.Ready {
		s.NotReady++
	}
}

// Fleetwide is the sentence with the numbers of bundle deployments that are not ready: by what Fleet reports, and on the
// clusters that were read. It is empty if all clusters were read.
func Fleetwide(a *report.Audit) string {
	clusters, read := map[string]bool{}, map[string]bool{}
	reported, unknown, on, notReady, reportedOn := 0, 0, 0, 0, 0
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		clusters[bd.Cluster] = true
		bad := bd.Reported != nil && bd.Reported.State != "" && bd.Reported.State != string(report.Ready)
		if bad {
			reported++
		}
		if bd.Reported == nil || bd.Reported.State == "" {
			unknown++
		}
		if Unread(bd) {
			continue
		}
		read[bd.Cluster] = true
		on++
		if bd.State != report.Ready {
			notReady++
		}
		if bad {
			reportedOn++
		}
	}
	if on == len(a.BundleDeployments) {
		return ""
	}
	out := fmt.Sprintf("By what Fleet reports, %d of %s on %s %s not ready", reported,
		report.Plural(len(a.BundleDeployments), "bundle deployment"), report.Plural(len(clusters), "cluster"),
		be(reported))
	if unknown > 0 {
		out += fmt.Sprintf(", %d without a status", unknown)
	}
	switch len(read) {
	case 0:
		return out + ". No cluster was read."
	case 1:
		out += ". 1 cluster was read"
	default:
		out += fmt.Sprintf(". %d clusters were read", len(read))
	}
	objects := a.Summary.Counts
	return out + fmt.Sprintf(": %d of %d %s not ready there (%d of %s ready), Fleet reports %d.", notReady, on,
		be(notReady), objects.Ready, report.Plural(objects.Desired, "object"), reportedOn)
}

// be is the verb of a number.
func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Unread reports whether a bundle deployment is on a cluster that was not read.
func Unread(bd *report.BundleDeployment) bool { return bd.Reason == string(directory.ClusterNotRead) }

// ShownState is the state of a bundle deployment, on a cluster that was not read the one that Fleet reports.
func ShownState(bd *report.BundleDeployment) report.State {
	if Unread(bd) && bd.Reported != nil && bd.Reported.State != "" {
		return report.State(bd.Reported.State)
	}
	return bd.State
}
