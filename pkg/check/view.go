// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
)

// view is a bundle deployment in Fleet's own terms: as its status reports it, and as it is.
type view struct {
	// reported and actual are the bundle deployment as Fleet counts it.
	reported, actual fleet.Member
	// reportedKnown and known are true if the object counts of reported and actual are known.
	reportedKnown, known bool
	// live is true if actual follows from the live objects. Otherwise it is the same as reported.
	live bool
	// claim is what the status says about objects that are not all ready, such as "the state Ready"; empty if its counts
	// show the difference.
	claim string
	// why explains why the counts or the claim are wrong; zero if they are not.
	why explanation
}

func (f *Facts) newView(d *evaluate.BundleDeployment) *view {
	out := &view{}
	if d.BD == nil {
		return out
	}
	m := fleet.Member{Name: d.Key(), Cluster: labelledCluster(d.BD), GitRepo: d.GitRepo, HelmOp: d.HelmOp, State: fleet.ShownState(d.BD)}
	m.Counts, out.reportedKnown = fleet.ReportedCounts(&d.BD.Status)
	if d.Problem != "" && d.BD.Status.AppliedDeploymentID == "" && d.BD.Status.Release == "" {
		out.reportedKnown = true // nothing is installed yet, and the counts are zero
	}
	out.reported, out.actual, out.known = m, m, out.reportedKnown
	c, ok := f.liveCounts(d)
	if !ok || out.reportedKnown && f.asDesigned(d, m.Counts, c) {
		return out
	}
	out.live, out.known, out.actual.Counts = true, true, c
	if out.reportedKnown && !alike(m.Counts, c) {
		out.actual.State, out.why = liveState(d, m.State), f.whyDeployment(d, m.Counts, c)
		return out
	}
	s := liveState(d, m.State)
	out.claim = out.wrongClaim(d.BD)
	// Without counts, only objects that are not ready prove another state.
	if out.claim != "" || !out.reportedKnown && s != fleet.Ready {
		out.actual.State = s
	}
	switch {
	case out.claim == "":
	case out.reportedKnown:
		out.why = explanation{Lag, "fleet-controller writes the state some seconds after the agent writes the counts"}
	default:
		out.why = f.whyDeployment(d, v1alpha1.ResourceCounts{DesiredReady: c.DesiredReady, Ready: c.DesiredReady}, c)
	}
	return out
}

// wrongClaim returns what a status without wrong counts says about its objects, although they are not all ready; empty
// if it says nothing wrong. If the status has counts, FD209 compares its other fields with them.
func (a *view) wrongClaim(bd *v1alpha1.BundleDeployment) string {
	c, s := a.actual.Counts, &bd.Status
	switch {
	case c.Ready == c.DesiredReady, bd.Spec.DeploymentID != s.AppliedDeploymentID:
		return ""
	case a.reported.State == fleet.Ready:
		return "the state Ready"
	case a.reportedKnown:
		return ""
	case s.NonModified && c.Missing+c.Modified > 0:
		return "nonModified: true"
	case s.Ready && c.NotReady > 0:
		return "ready: true"
	}
	return ""
}

// labelledCluster is the cluster that the labels name. Fleet does not use anything else to count clusters.
func labelledCluster(bd *v1alpha1.BundleDeployment) string {
	ns, name := bd.Labels[fleet.ClusterNamespaceLabel], bd.Labels[fleet.ClusterLabel]
	if ns == "" || name == "" {
		return ""
	}
	return ns + "/" + name
}

// liveCounts returns the counts of the live objects as an agent counts them: its missing objects include unowned ones. ok is false if an object
// could not be evaluated, or if the agent compares with other desired objects.
func (f *Facts) liveCounts(d *evaluate.BundleDeployment) (out v1alpha1.ResourceCounts, ok bool) {
	c := d.Counts
	if f.StatusOnly || d.Problem != "" || d.Disputed || d.OtherVersions || c.Unknown > 0 || d.From != "" && d.From != resolve.FromRelease {
		return out, false
	}
	return v1alpha1.ResourceCounts{DesiredReady: c.Desired, Ready: c.Ready, Missing: c.Missing + c.Unowned,
		Modified: c.Modified, NotReady: c.NotReady, Orphaned: c.Orphaned}, true
}

// asDesigned reports whether counts are the same, except for objects that Fleet reports as modified by design: those that an autoscaler of another
// bundle scales (docs/fleet-behavior.md, 3.4).
func (f *Facts) asDesigned(d *evaluate.BundleDeployment, reported, actual v1alpha1.ResourceCounts) bool {
	c, n := claimed(d, actual, func(o *evaluate.Object) bool { return o.Scaled })
	return n > 0 && alike(c, reported) && !fleet.BugReplicas.In(agentVersion(d))
}

// liveState returns the state that Fleet would give a bundle deployment for its live objects. shown is the state that it shows.
func liveState(d *evaluate.BundleDeployment, shown fleet.BundleState) fleet.BundleState {
	spec, status := &d.BD.Spec, &d.BD.Status
	switch {
	case spec.DeploymentID != status.AppliedDeploymentID:
		return shown // the contents on the cluster are not the current ones
	case slices.ContainsFunc(d.Objects, func(o evaluate.Object) bool { return o.NotReady }):
		return fleet.NotReady
	case spec.DeploymentID != spec.StagedDeploymentID:
		return fleet.OutOfSync
	case d.Counts.Missing+d.Counts.Unowned+d.Counts.Modified > 0, status.ResourceCounts != nil && status.ResourceCounts.Orphaned > 0:
		return fleet.Modified
	case shown != fleet.Ready && shown.Rank() == 0:
		return shown // a state that this program does not know
	case shown == fleet.NotReady && slices.ContainsFunc(status.Conditions, func(c v1alpha1.Condition) bool { return c.Type == "Installed" && c.Status == "False" }):
		return shown // its installation failed
	}
	return fleet.Ready
}

// alike reports whether counts of objects are the same. Orphaned objects are not compared: Fleet compares with the previous revision only.
func alike(x, y v1alpha1.ResourceCounts) bool {
	return x.DesiredReady == y.DesiredReady && x.Ready == y.Ready && x.Missing == y.Missing && x.Modified == y.Modified && x.NotReady == y.NotReady
}

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
	}{{c.Missing, "missing"}, {c.Modified, "modified"}, {c.NotReady, "not ready"}, {c.WaitApplied, "waiting"}, {c.Unknown, "unknown"}} {
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
