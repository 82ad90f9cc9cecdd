// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// Reimported reports whether a restart of the controller imports an agent again.
func Reimported(a evaluate.Agent) bool { return a.Now.Result == agentconfig.ReImport }

// Stopped reports whether an agent that has reported does not report any more.
func Stopped(a evaluate.Agent) bool {
	return a.Heartbeat.State == agentconfig.Stale && a.Cluster.DeletionTimestamp.IsZero()
}

// IdleOf is why an agent does not run, as a sentence; empty if it runs, or if its cluster is not read.
func IdleOf(a evaluate.Agent) string {
	if a.Idle == "" || a.Stuck.Runs {
		return ""
	}
	name := a.Workload + " " + fleet.AgentName + " of its cluster"
	if a.Stuck.Why == "" {
		return name + " may not run: " + a.Idle
	}
	return name + " does not run: " + a.Idle + ": " + a.Stuck.Why
}

// Broken reports whether an agent that has reported does not run any more.
func Broken(a evaluate.Agent) bool {
	return a.Broken && a.Heartbeat.State != agentconfig.Never && a.Cluster.DeletionTimestamp.IsZero()
}

// silentAfter is the age of the last heartbeat from which an agent is silent if its interval was not read: three times
// the default interval.
const silentAfter = 3 * agentconfig.DefaultInterval

// IsSilent reports whether an agent is silent: its heartbeat is stale or, if its interval was not read, older than
// three default intervals, or it has never reported although it should have.
func IsSilent(a evaluate.Agent) bool {
	h := a.Heartbeat
	if a.Silent || h.State == agentconfig.Stale {
		return true
	}
	return h.State == agentconfig.Alive && h.Interval == 0 && h.Age > silentAfter
}

// Silent reports whether the agent of a cluster has not reported for a long time. It is false if that is not known.
func (f *Facts) Silent(c *v1alpha1.Cluster) bool {
	if c == nil {
		return false
	}
	a, known := f.AgentOf(c.Status.Namespace)
	return known && IsSilent(a)
}
