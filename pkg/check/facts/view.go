// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
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
	case shown == fleet.NotReady && v1alpha1.ConditionOf(status.Conditions, "Installed").Status == "False":
		return shown // its installation failed
	}
	return fleet.Ready
}

// New computes the facts of a result. Findings quote texts by adding them to quotations.
func New(r *evaluate.Result, quotations *secret.Quotations) *Facts {
	f := &Facts{Result: r, Quotations: quotations,
		objects:       map[object.Ref]v1alpha1.Object{},
		clusters:      byDeploymentNamespace(r.Desired.Fleet.Clusters),
		bundlesOf:     map[object.Ref][]*v1alpha1.Bundle{},
		deploymentsOf: map[object.Ref]int{},
		targets:       map[object.Ref]func() *targeting.Bundle{},
		agents:        sync.OnceValue(r.Agents),
		due:           &time.Time{},
	}
	for _, k := range state.Kinds {
		for _, o := range k.List(r.Desired.Fleet) {
			f.objects[Ref(k.Name, o.GetNamespace(), o.GetName())] = o
		}
	}
	for _, d := range r.Desired.Directory.Deployments {
		f.deploymentsOf[Named(state.Bundle, d.Bundle)]++
	}
	f.matching = sync.OnceValue(r.Desired.Targeting)
	for _, b := range r.Desired.Bundles {
		if repo, ok := RepoOf(b); ok {
			f.bundlesOf[repo] = append(f.bundlesOf[repo], b)
		}
		f.targets[RefTo(b)] = sync.OnceValue(func() *targeting.Bundle { return f.Matching(b) })
	}
	f.agentOf = sync.OnceValue(f.agentsByNamespace)
	f.views = sync.OnceValue(f.allViews)
	return f
}

func byDeploymentNamespace(clusters []*v1alpha1.Cluster) map[string]*v1alpha1.Cluster {
	out := map[string]*v1alpha1.Cluster{}
	for _, c := range clusters {
		ns := c.Status.Namespace
		if ns == "" {
			continue
		}
		_, twice := out[ns]
		out[ns] = c
		if twice {
			out[ns] = nil
		}
	}
	return out
}

func (f *Facts) agentsByNamespace() map[string]evaluate.Agent {
	out := map[string]evaluate.Agent{}
	for _, a := range f.Agents() {
		if ns := a.Cluster.Status.Namespace; ns != "" {
			out[ns] = a
		}
	}
	return out
}

func (f *Facts) allViews() map[object.DeploymentID]*View {
	out := make(map[object.DeploymentID]*View, len(f.Result.Deployments))
	for _, d := range f.Result.Deployments {
		out[d.ID()] = f.newView(d)
	}
	return out
}

// whyDeployment explains why the counts of a bundle deployment are not the actual ones.
func (f *Facts) whyDeployment(d *evaluate.BundleDeployment, reported, actual v1alpha1.ResourceCounts) Explanation {
	spec, status := &d.BD.Spec, &d.BD.Status
	cluster := f.ClusterIn(d.Namespace)
	switch {
	case spec.Paused:
		return Explanation{Paused, "it is paused, and the agent does not update its status"}
	case spec.OffSchedule:
		return Explanation{OffSchedule, "it is outside its schedule, and the agent does not update its status"}
	case f.Silent(cluster):
		return SilentWords(cluster)
	case spec.DeploymentID != status.AppliedDeploymentID && d.State == evaluate.ErrApplied:
		return Explanation{Lag, "the last deploy failed, and the counts are still those of the deploy before"}
	case spec.DeploymentID != status.AppliedDeploymentID:
		return Explanation{Lag, "the agent has not applied the current deployment id yet"}
	case v1alpha1.ConditionOf(status.Conditions, "Installed").Status == "False":
		return Explanation{Lag, "the installation failed, and the counts are still those of the deploy before"}
	case v1alpha1.ConditionOf(status.Conditions, "Monitored").Status == "False":
		const text = "the agent cannot monitor the objects, and the counts are still the last ones"
		return Explanation{Lag, text + f.SaidOf(&d.Deployment, "Monitored")}
	}
	if c, n := claimed(d, actual, func(o *evaluate.Object) bool { return o.LastApplied }); n > 0 && Alike(c, reported) {
		return Explanation{LastApplied, "Fleet reports " + Count(n, "object") + " as modified because of a leftover " +
			lastAppliedAnnotation + " annotation"}
	}
	agent := d.AgentVersion
	for _, b := range objectBugs {
		if c, n := claimed(d, actual, b.affects); n > 0 && Alike(c, reported) && b.In(agent) {
			return OfBug(b.Bug, "the agent's version", agent)
		}
	}
	if when, old := f.oldDrift(d, cluster, reported, actual); old {
		if fleet.BugDefaults.In(agent) {
			return OfBug(&fleet.BugDefaults, "the agent's version", agent)
		}
		return Explanation{Unexplained, "the last change was at " + when + ", and the agent has reported since then"}
	}
	return Explanation{Lag, "the agent reports a change after some seconds, or the objects changed while they were " +
		"read"}
}

const lastAppliedAnnotation = "last-applied"

// objectBugs are the bugs that make an agent report an object as modified.
var objectBugs = []struct {
	*fleet.Bug
	affects func(o *evaluate.Object) bool
}{
	{&fleet.BugReplicas, func(o *evaluate.Object) bool { return o.Scaled }},
	{&fleet.BugCABundle, func(o *evaluate.Object) bool { return strings.HasSuffix(o.Kind, "WebhookConfiguration") }},
}

// claimed returns the actual counts with those objects moved to the modified ones that the status lists as modified,
// that are not, and that match. n is the number of these objects.
func claimed(d *evaluate.BundleDeployment, actual v1alpha1.ResourceCounts,
	match func(*evaluate.Object) bool) (c v1alpha1.ResourceCounts, n int) {
	for i := range d.BD.Status.ModifiedStatus {
		m := &d.BD.Status.ModifiedStatus[i]
		if m.Missing || m.Delete {
			continue
		}
		j := slices.IndexFunc(d.Objects, func(o evaluate.Object) bool {
			return o.Ref == object.Ref(m.Key())
		})
		if j < 0 || !match(&d.Objects[j]) {
			continue
		}
		switch d.Objects[j].State {
		case evaluate.Ready:
			actual.Ready--
		case evaluate.NotReady:
			actual.NotReady--
		default:
			continue
		}
		actual.Modified++
		n++
	}
	return actual, n
}

// oldDrift reports whether the agent does not report modified objects, although field managers prove that the changes
// are old, and the agent has sent a heartbeat since then. at is the time of the last change.
func (f *Facts) oldDrift(d *evaluate.BundleDeployment, cluster *v1alpha1.Cluster, reported,
	actual v1alpha1.ResourceCounts) (when string, old bool) {
	if cluster == nil || reported.Missing != actual.Missing {
		return "", false
	}
	if reported.DesiredReady != actual.DesiredReady || reported.Modified >= actual.Modified {
		return "", false
	}
	for i := range d.Objects {
		if d.Objects[i].State != evaluate.Modified {
			continue
		}
		for _, diff := range d.Objects[i].Differences {
			if diff.Time == "" {
				return "", false
			}
			when = max(when, diff.Time)
		}
	}
	t, seen := Parsed(when), Parsed(cluster.Status.Agent.LastSeen)
	return when, f.LongAgo(t) && seen.Sub(t) > Settled
}
