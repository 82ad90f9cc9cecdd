// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// CodeStale is the code of the finding about an agent that has stopped reporting.
const CodeStale = "FD502"

// OfAgent returns the codes of the findings about an agent.
func OfAgent(a evaluate.Agent) []string {
	var out []string
	if reimported(a) {
		out = append(out, willReimport.Code)
	}
	if stopped(a) {
		out = append(out, CodeStale)
	}
	if a.Silent {
		out = append(out, agentNeverSeen.Code)
	}
	return out
}

func reimported(a evaluate.Agent) bool { return a.Now.Result == agentconfig.ReImport }

func stopped(a evaluate.Agent) bool {
	return a.Heartbeat.State == agentconfig.Stale && a.Cluster.DeletionTimestamp.IsZero()
}

// AgentsInScope returns the agents of the Clusters in scope.
func (f *Facts) AgentsInScope() []evaluate.Agent {
	return slices.DeleteFunc(slices.Clone(f.Agents()), func(a evaluate.Agent) bool {
		return !f.Includes(state.ClusterKind, a.Cluster)
	})
}

// onCluster returns a finding about a Cluster.
func onCluster(a evaluate.Agent) Finding {
	c := a.Cluster
	return Finding{Object: Ref(state.ClusterKind, c.Namespace, c.Name), Cluster: key(c), AsOf: c.Status.Agent.LastSeen}
}

// silentAfter is the age of the last heartbeat from which an agent is silent if its interval was not read: three times the default interval.
const silentAfter = 3 * agentconfig.DefaultInterval

// IsSilent reports whether an agent is silent: its heartbeat is stale or, if its interval was not read, older than three default intervals, or it has
// never reported although it should have.
func IsSilent(a evaluate.Agent) bool {
	h := a.Heartbeat
	return a.Silent || h.State == agentconfig.Stale || h.State == agentconfig.Alive && h.Interval == 0 && h.Age > silentAfter
}
