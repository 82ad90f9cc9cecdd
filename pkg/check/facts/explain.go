// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
	case ConditionOf(status.Conditions, "Installed").Status == "False":
		return Explanation{Lag, "the installation failed, and the counts are still those of the deploy before"}
	case ConditionOf(status.Conditions, "Monitored").Status == "False":
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
	if at, old := f.oldDrift(d, cluster, reported, actual); old {
		if fleet.BugDefaults.In(agent) {
			return OfBug(&fleet.BugDefaults, "the agent's version", agent)
		}
		return Explanation{Unexplained, "the last change was at " + at + ", and the agent has reported since then"}
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
			return o.Ref == object.Ref{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
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
	actual v1alpha1.ResourceCounts) (at string, old bool) {
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
			at = max(at, diff.Time)
		}
	}
	t, seen := Parsed(at), Parsed(cluster.Status.Agent.LastSeen)
	return at, f.LongAgo(t) && seen.Sub(t) > Settled
}
