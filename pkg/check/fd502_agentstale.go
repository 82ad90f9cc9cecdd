// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
)

func (in *Input) agentStale(out *found, a evaluate.Agent) {
	stopped := facts.Stopped(a)
	if !stopped && !facts.Broken(a) {
		return
	}
	f, h, idle := onCluster(a), a.Heartbeat, facts.IdleOf(a)
	if !stopped {
		f.Message = fmt.Sprintf("the agent of cluster %s does not deploy: %s", f.Cluster, idle)
		f.Evidence = []string{"the pod was created at " + facts.Time(a.Stuck.Since), "last heartbeat: " +
			a.Cluster.Status.Agent.LastSeen}
		out.report(f, in.Steps.LogsOfAgent(a))
		return
	}
	f.Message = fmt.Sprintf("the agent of cluster %s last reported %s before the data was taken: all numbers of this "+
		"cluster are that old", f.Cluster, age(h.Age))
	f.Evidence = []string{"last heartbeat: " + a.Cluster.Status.Agent.LastSeen, limitOf(h)}
	f.sayIf(idle != "", idle)
	out.report(f, in.Steps.LogsOfAgent(a))
}

// limitOf describes the age from which a heartbeat is too old.
func limitOf(h agentconfig.Heartbeat) string {
	if h.Interval == 0 {
		return fmt.Sprintf("the limit is %s: the interval of heartbeats was not read", age(h.Limit))
	}
	return fmt.Sprintf("the limit is %s: the agent reports every %s", age(h.Limit), age(h.Interval))
}

// age writes a duration in its largest unit of which there are at least two.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return facts.Count(int(d/day), "day")
	case d >= 2*time.Hour:
		return facts.Count(int(d/time.Hour), "hour")
	case d >= 2*time.Minute:
		return facts.Count(int(d/time.Minute), "minute")
	}
	return facts.Count(int(d/time.Second), "second")
}
