// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Agent is the agent of one Cluster, as the management cluster shows it.
type Agent struct {
	Cluster *v1alpha1.Cluster
	// Workload is the kind of its workload, and ClusterID the cluster that has it. They are empty if its cluster is not
	// read.
	Workload  string
	ClusterID object.ClusterID
	// Version is the image tag of its workload; empty if its cluster is not read.
	Version string
	// Idle is the reason why none of its pods runs, and Stuck what the pods show; empty if one runs, or if its cluster
	// is not read.
	Idle  string
	Stuck state.Stuck
	// Broken is true if the pods have not run for more than five minutes.
	Broken    bool
	Heartbeat agentconfig.Heartbeat
	// Silent is true if the agent was imported longer ago than the limit of its heartbeat, or 45 minutes, and has never
	// reported since; or if it registers itself, and its Cluster is older than five minutes.
	Silent bool
	// LookAgain is the time at which the state of the heartbeat, or Silent, can change although nothing else changes;
	// zero if there is none.
	LookAgain time.Time
	// Now is what a restart of the present controller does; Upgraded is what the start of a controller of
	// agentconfig.Upgraded does, or Now if the controller is not older.
	Now, Upgraded agentconfig.Prediction
}

// Agents returns the agents of all Clusters, ordered by namespace and name.
func Agents(d *directory.Directory, s source.Description) []Agent {
	version, known := fleet.ParseVersion(d.ControllerVersion)
	config, unread := d.Agents.Config()
	clock := agentconfig.Clock{Now: s.TakenAt, Earliest: s.Earliest}
	workloads, missing := agentWorkloads(d), missingSecrets(d.Fleet)
	var out []Agent
	for _, c := range d.Fleet.Clusters {
		in := agentconfig.Input{Cluster: c, Config: config.Config, ConfigUnread: unread,
			SystemNamespace: d.Agents.ControllerNamespace,
			KubeConfig:      d.Agents.KubeConfigs[state.KubeConfigKey(c)]}
		for _, m := range missing {
			if m.cluster != c {
				in.OtherSecret = m.what
			}
		}
		w := workloads[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}]
		a := Agent{Cluster: c, ClusterID: w.cluster, Workload: w.Kind, Version: w.Version, Idle: w.Idle, Stuck: w.Stuck,
			Now: agentconfig.Predict(in, version, known)}
		a.Upgraded = a.Now
		if !known || version.Before(agentconfig.Upgraded.Minor, agentconfig.Upgraded.Patch) {
			a.Upgraded = agentconfig.Predict(in, agentconfig.Upgraded, true)
		}
		a.Heartbeat = agentconfig.Beat(c.Status.Agent.LastSeen, intervalOf(w.Workload, config.Config), clock)
		if in.LocalDisabled() && (!known || !version.Before(16, 0)) {
			a.Heartbeat.State = agentconfig.Disabled
		}
		a.atTime(clock.Now)
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y Agent) int {
		return cmp.Or(cmp.Compare(x.Cluster.Namespace, y.Cluster.Namespace),
			cmp.Compare(x.Cluster.Name, y.Cluster.Name))
	})
	return out
}

// Agents returns the agents of all Clusters.
func (r *Result) Agents() []Agent { return Agents(r.Desired.Directory, r.Source) }

// agentWorkload is the workload of an agent on a cluster that is read.
type agentWorkload struct {
	state.Workload
	cluster object.ClusterID
}

// agentWorkloads returns the workloads of agents by their Cluster, of the clusters that are read.
func agentWorkloads(d *directory.Directory) map[types.NamespacedName]agentWorkload {
	out := map[types.NamespacedName]agentWorkload{}
	for _, c := range d.Clusters {
		// of two agents of one Cluster, the last one counts
		for _, ns := range slices.Sorted(maps.Keys(c.State.Workloads)) {
			if o := c.FleetCluster(ns); o != nil {
				key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
				out[key] = agentWorkload{c.State.Workloads[ns], c.ID}
			}
		}
	}
	return out
}

// intervalOf returns the interval of a heartbeat: that of the workload, or else that of the configuration, which may be
// zero. It is nil if neither was read.
func intervalOf(w state.Workload, c *agentconfig.Config) *time.Duration {
	if d, err := time.ParseDuration(w.CheckinInterval); err == nil {
		return &d
	}
	if c == nil {
		return nil
	}
	return &c.CheckinInterval
}

// brokenAfter is how long the pod of an agent may take to run: its image is pulled.
const brokenAfter = 5 * time.Minute

// atTime sets what depends on the time of the data.
func (a *Agent) atTime(now time.Time) {
	defer a.brokenAt(now)
	switch a.Heartbeat.State {
	case agentconfig.Alive, agentconfig.Ahead:
		a.LookAgain = a.Heartbeat.LookAgain
	case agentconfig.Never:
		from := silentFrom(a.Cluster, a.Heartbeat.Limit)
		if from.IsZero() || now.IsZero() {
			return
		}
		if a.Silent = !now.Before(from); !a.Silent {
			a.LookAgain = from
		}
	}
}

// brokenAt sets what depends on the age of the pods.
func (a *Agent) brokenAt(now time.Time) {
	if a.Stuck.Since.IsZero() || now.IsZero() {
		return
	}
	from := a.Stuck.Since.Add(brokenAfter)
	if a.Broken = !now.Before(from); a.Broken {
		return
	}
	if a.LookAgain.IsZero() || from.Before(a.LookAgain) {
		a.LookAgain = from
	}
}

// An agent reports 15 seconds after its start, whatever its interval is (docs/fleet-behavior.md, 7.1). So these are the
// times after which a first report is late: since the creation of a Cluster whose agent registers itself, and since an
// import, after which the pod must be scheduled and its image pulled.
const (
	registersWithin = 5 * time.Minute
	reportsWithin   = 45 * time.Minute
)

// silentFrom returns the time from which an agent that never reported should have reported; zero if there is none. Each
// import changes the time of a condition.
func silentFrom(c *v1alpha1.Cluster, limit time.Duration) time.Time {
	created, s := c.CreationTimestamp.Time, c.Status
	if !c.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	limit = min(limit, reportsWithin)
	after := func(t time.Time) time.Time { return t.Add(limit).Add(time.Nanosecond) }
	if c.Spec.KubeConfigSecret == "" {
		if created.IsZero() || agentconfig.Skipped(c) {
			return time.Time{}
		}
		limit = registersWithin
		return after(created)
	}
	if s.AgentDeployedGeneration == nil || s.AgentConfigChanged {
		return time.Time{}
	}
	changed, err := time.Parse(time.RFC3339, s.LastChange())
	if err != nil {
		return time.Time{}
	}
	if changed.Before(created) {
		return after(created)
	}
	return after(changed)
}

// missingSecret is a Cluster of which the kubeconfig Secret does not exist, or may not exist.
type missingSecret struct {
	cluster *v1alpha1.Cluster
	what    string
}

// missingSecrets returns the first two Clusters without a Secret: one of them is another Cluster than any given one.
func missingSecrets(f *state.Fleet) []missingSecret {
	var out []missingSecret
	for _, c := range f.Clusters {
		what := fmt.Sprintf("the kubeconfig Secret of cluster %s/%s ", c.Namespace, c.Name)
		switch k := f.Agents.KubeConfigs[state.KubeConfigKey(c)]; {
		case k.Missing:
			out = append(out, missingSecret{c, what + "does not exist"})
		case k.Unread != "":
			out = append(out, missingSecret{c, what + "was not read (" + k.Unread + ")"})
		}
	}
	slices.SortFunc(out, func(x, y missingSecret) int { return cmp.Compare(x.what, y.what) })
	return out[:min(len(out), 2)]
}
