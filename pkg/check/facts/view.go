// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func (f *Facts) newView(d *evaluate.BundleDeployment) *View {
	out := &View{}
	if d.BD == nil {
		return out
	}
	m := fleet.Member{Name: d.Key(), Cluster: labelledCluster(d.BD), GitRepo: d.GitRepo, HelmOp: d.HelmOp,
		State: fleet.ReportedState(d.BD)}
	m.Counts, out.ReportedKnown = fleet.ReportedCounts(&d.BD.Status)
	if d.Problem != "" && d.BD.Status.AppliedDeploymentID == "" && d.BD.Status.Release == "" {
		out.ReportedKnown = true // nothing is installed yet, and the counts are zero
	}
	out.Reported, out.Actual, out.Known = m, m, out.ReportedKnown
	c, ok := f.liveCounts(d)
	if !ok || out.ReportedKnown && f.asDesigned(d, m.Counts, c) {
		return out
	}
	out.Live, out.Known, out.Actual.Counts = true, true, c
	if out.ReportedKnown && !Alike(m.Counts, c) {
		out.Actual.State, out.Why = liveState(d, m.State), f.whyDeployment(d, m.Counts, c)
		return out
	}
	s := liveState(d, m.State)
	out.Claim = out.wrongClaim(d.BD)
	// Without counts, only objects that are not ready prove another state.
	if out.Claim != "" || !out.ReportedKnown && s != fleet.Ready {
		out.Actual.State = s
	}
	switch {
	case out.Claim == "":
	case out.ReportedKnown:
		out.Why = Explanation{Lag, "fleet-controller writes the state some seconds after the agent writes the counts"}
	default:
		out.Why = f.whyDeployment(d, v1alpha1.ResourceCounts{DesiredReady: c.DesiredReady, Ready: c.DesiredReady}, c)
	}
	return out
}

// wrongClaim returns what a status without wrong counts says about its objects, although they are not all ready; empty
// if it says nothing wrong. If the status has counts, FD209 compares its other fields with them.
func (a *View) wrongClaim(bd *v1alpha1.BundleDeployment) string {
	c, s := a.Actual.Counts, &bd.Status
	switch {
	case c.Ready == c.DesiredReady, bd.Spec.DeploymentID != s.AppliedDeploymentID:
		return ""
	case fleet.ShownState(bd) == fleet.Ready:
		return "the state Ready"
	case a.ReportedKnown:
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

// liveCounts returns the counts of the live objects as an agent counts them: its missing objects include unowned ones.
// ok is false if an object could not be evaluated, or if the agent compares with other desired objects.
func (f *Facts) liveCounts(d *evaluate.BundleDeployment) (out v1alpha1.ResourceCounts, ok bool) {
	c := d.Counts
	if otherDesired := d.From != "" && d.From != desired.FromRelease; otherDesired || d.OtherVersions {
		return out, false
	}
	if f.Result.StatusOnly || d.Problem != "" {
		return out, false
	}
	if d.Dispute != "" || c.Unknown > 0 {
		return out, false
	}
	return v1alpha1.ResourceCounts{DesiredReady: c.Desired, Ready: c.Ready, Missing: c.Missing + c.Unowned,
		Modified: c.Modified, NotReady: c.NotReady, Orphaned: c.Orphaned}, true
}

// asDesigned reports whether counts are the same, except for objects that Fleet reports as modified by design: those
// that an autoscaler of another bundle scales (docs/fleet-behavior.md, 3.4).
func (f *Facts) asDesigned(d *evaluate.BundleDeployment, reported, actual v1alpha1.ResourceCounts) bool {
	c, n := claimed(d, actual, func(o *evaluate.Object) bool { return o.Scaled })
	return n > 0 && Alike(c, reported) && !fleet.BugReplicas.In(d.AgentVersion)
}

// liveState returns the state that Fleet would give a bundle deployment for its live objects. shown is the state that
// it shows.
func liveState(d *evaluate.BundleDeployment, shown fleet.BundleState) fleet.BundleState {
	spec, status := &d.BD.Spec, &d.BD.Status
	switch {
	case spec.DeploymentID != status.AppliedDeploymentID:
		return shown // the contents on the cluster are not the current ones
	case slices.ContainsFunc(d.Objects, func(o evaluate.Object) bool { return o.NotReady }):
		return fleet.NotReady
	case spec.DeploymentID != spec.StagedDeploymentID:
		return fleet.OutOfSync
	case d.Counts.Missing+d.Counts.Unowned+d.Counts.Modified > 0, status.ResourceCounts != nil &&
		status.ResourceCounts.Orphaned > 0:
		return fleet.Modified
	case shown != fleet.Ready && shown.Rank() == 0:
		return shown // a state that this program does not know
	case shown == fleet.NotReady && slices.ContainsFunc(status.Conditions,
		func(c v1alpha1.Condition) bool { return c.Type == "Installed" && c.Status == "False" }):
		return shown // its installation failed
	}
	return fleet.Ready
}
