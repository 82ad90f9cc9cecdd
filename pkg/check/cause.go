// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Cause is why a number in a status of Fleet is not the recomputed one.
type Cause string

// The causes. Lag is also the cause if the times do not show how old the difference is: only a difference that is proved to be older than Fleet's
// usual delays is Unexplained.
const (
	Lag              Cause = "Lag"
	StaleAgent       Cause = "StaleAgent"            // the agent has not reported for a long time
	Paused           Cause = "Paused"                // the bundle or the cluster is paused
	OffSchedule      Cause = "OffSchedule"           // it is outside its schedule
	PendingRollout   Cause = "PendingRollout"        // targets that the rollout has not reached are not counted
	Truncated        Cause = "Truncated"             // the numbers come from lists that are truncated at ten entries
	StickyIncomplete Cause = "StickyIncompleteState" // incompleteState is set although the lists are complete
	LastApplied      Cause = "LeftoverLastApplied"   // a leftover last-applied annotation makes Fleet report objects as modified
	KnownBug         Cause = "KnownBug"              // a known bug of the version that runs
	Unexplained      Cause = "Unexplained"
)

// explanation is a cause in words. It is zero if there is nothing to explain.
type explanation struct {
	cause Cause
	words string
}

// ofBug returns the explanation by a bug of the version that a tag names.
func ofBug(b *fleet.Bug, who, tag string) explanation {
	return explanation{KnownBug, "known bug " + b.Issue + " of " + who + " " + tag + ": " + b.What}
}

const (
	// settled is the time after which a difference is no lag: many times the delays of seconds that Fleet has (docs/fleet-behavior.md, 4.4).
	settled = 5 * time.Minute
)

// parsed returns a time of a status; zero without one.
func parsed(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// longAgo reports whether a known time is so long before the data was read that nothing can still be on its way.
func (f *Facts) longAgo(t time.Time) bool {
	return !t.IsZero() && !f.Now().IsZero() && f.Now().Sub(t) > settled
}

// live reports whether the objects of a cluster are those of a live one.
func (f *Facts) live(c *directory.Cluster) bool {
	for _, other := range f.Clusters {
		if other.On == c {
			return other.Source.Live()
		}
	}
	return f.Source.Live()
}

// readAt returns the time for which the objects of a cluster and those of the management cluster are known: the earlier one of two captures.
func (f *Facts) readAt(c *directory.Cluster) time.Time {
	for _, other := range f.Clusters {
		if at := other.Source.TakenAt; other.On == c && !at.IsZero() && at.Before(f.Now()) {
			return at
		}
	}
	return f.Now()
}

// silent reports whether the agent of a cluster has not reported for a long time. It is false if that is not known.
func (f *Facts) silent(c *v1alpha1.Cluster) bool {
	if c == nil {
		return false
	}
	a, known := f.AgentOf(c.Status.Namespace)
	return known && IsSilent(a)
}

func silentWords(c *v1alpha1.Cluster) explanation {
	if c.Status.Agent.LastSeen == "" {
		return explanation{StaleAgent, "the agent has never reported"}
	}
	return explanation{StaleAgent, "the agent has not reported since " + c.Status.Agent.LastSeen}
}

// whyDeployment explains why the counts of a bundle deployment are not the actual ones.
func (f *Facts) whyDeployment(d *evaluate.BundleDeployment, reported, actual v1alpha1.ResourceCounts) explanation {
	spec, status := &d.BD.Spec, &d.BD.Status
	cluster := f.ClusterIn(d.Namespace)
	switch {
	case spec.Paused:
		return explanation{Paused, "it is paused, and the agent does not update its status"}
	case spec.OffSchedule:
		return explanation{OffSchedule, "it is outside its schedule, and the agent does not update its status"}
	case f.silent(cluster):
		return silentWords(cluster)
	case spec.DeploymentID != status.AppliedDeploymentID && d.State == evaluate.ErrApplied:
		return explanation{Lag, "the last deploy failed, and the counts are still those of the deploy before"}
	case spec.DeploymentID != status.AppliedDeploymentID:
		return explanation{Lag, "the agent has not applied the current deployment id yet"}
	case conditionOf(status.Conditions, "Installed").Status == "False":
		return explanation{Lag, "the installation failed, and the counts are still those of the deploy before"}
	case conditionOf(status.Conditions, "Monitored").Status == "False":
		const text = "the agent cannot monitor the objects, and the counts are still the last ones"
		return explanation{Lag, text + f.saidOf(&d.Deployment, "Monitored")}
	}
	if c, n := claimed(d, actual, func(o *evaluate.Object) bool { return o.LastApplied }); n > 0 && alike(c, reported) {
		return explanation{LastApplied, "Fleet reports " + count(n, "object") + " as modified because of a leftover " + lastAppliedAnnotation + " annotation"}
	}
	agent := agentVersion(d)
	for _, b := range objectBugs {
		if c, n := claimed(d, actual, b.affects); n > 0 && alike(c, reported) && b.In(agent) {
			return ofBug(b.Bug, "the agent's version", agent)
		}
	}
	if at, old := f.oldDrift(d, cluster, reported, actual); old {
		if fleet.BugDefaults.In(agent) {
			return ofBug(&fleet.BugDefaults, "the agent's version", agent)
		}
		return explanation{Unexplained, "the last change was at " + at + ", and the agent has reported since then"}
	}
	return explanation{Lag, "the agent reports a change after some seconds, or the objects changed while they were read"}
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

// claimed returns the actual counts with those objects moved to the modified ones that the status lists as modified, that are not, and that match.
// n is the number of these objects.
func claimed(d *evaluate.BundleDeployment, actual v1alpha1.ResourceCounts, match func(*evaluate.Object) bool) (c v1alpha1.ResourceCounts, n int) {
	for i := range d.BD.Status.ModifiedStatus {
		m := &d.BD.Status.ModifiedStatus[i]
		if m.Missing || m.Delete {
			continue
		}
		j := slices.IndexFunc(d.Objects, func(o evaluate.Object) bool {
			return o.APIVersion == m.APIVersion && o.Kind == m.Kind && o.Namespace == m.Namespace && o.Name == m.Name
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

// oldDrift reports whether the agent does not report modified objects, although field managers prove that the changes are old, and the agent has sent
// a heartbeat since then. at is the time of the last change.
func (f *Facts) oldDrift(d *evaluate.BundleDeployment, cluster *v1alpha1.Cluster, reported, actual v1alpha1.ResourceCounts) (at string, old bool) {
	if cluster == nil || reported.Missing != actual.Missing || reported.DesiredReady != actual.DesiredReady || reported.Modified >= actual.Modified {
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
	t, seen := parsed(at), parsed(cluster.Status.Agent.LastSeen)
	return at, f.longAgo(t) && seen.Sub(t) > settled
}

// agentVersion is the image tag of the agent of a bundle deployment; empty if it is not known.
func agentVersion(d *evaluate.BundleDeployment) string {
	if d.On == nil {
		return ""
	}
	return d.On.AgentVersion(d.Namespace)
}
