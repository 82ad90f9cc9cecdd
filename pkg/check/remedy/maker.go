// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"cmp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Maker makes the commands that findings suggest.
type Maker struct {
	Facts *facts.Facts
	// Commands are those of the management cluster, ClusterCommands those of each other cluster that is read.
	Commands        Commands
	ClusterCommands map[object.ClusterID]Commands
}

// On returns the commands for objects on a cluster. They are those of the management cluster if the cluster is not
// read.
func (m *Maker) On(c object.ClusterID) Commands {
	if commands, ok := m.ClusterCommands[c]; ok {
		return commands
	}
	return m.Commands
}

// ShowRole prints the role that the audit needs. For a snapshot that may lack objects, no role helps: it must be
// captured again.
func (m *Maker) ShowRole() Remedy {
	if m.Facts.Result.Source.Partial() {
		return Advise("capture the cluster again: kubectl fleetdoctor snapshot writes what an audit reads")
	}
	return m.Commands.ShowRole()
}

// LogsOfAgent shows why an agent does not report. The agent runs on another cluster than this one, unless it was found
// here.
func (m *Maker) LogsOfAgent(a evaluate.Agent) Remedy {
	if a.Heartbeat.State == agentconfig.Never && a.Cluster.Spec.KubeConfigSecret == "" {
		out := m.Commands.List("clusterregistrations", a.Cluster.Namespace,
			"lists the registrations of agents: one with the clientID of the Cluster must exist, be of this Cluster, "+
				"and be granted")
		out.Command += " -o custom-columns=NAME:.metadata.name,CLIENTID:.spec.clientID,CLUSTER:.status.clusterName," +
			"GRANTED:.status.granted"
		return out
	}
	namespace := cmp.Or(a.Cluster.Status.Agent.Namespace, a.Cluster.Spec.AgentNamespace, "cattle-fleet-system")
	if a.Workload == "" {
		return Advise("read the log of Deployment %s/%s on cluster %s", namespace, fleet.AgentName, a.Cluster.Name)
	}
	if a.Stuck.Why != "" && !a.Stuck.Logs {
		return Run(m.On(a.ClusterID).Kubectl+InNamespace(namespace)+" describe pods -l "+fleet.AgentPods,
			"shows the state and the events of the pods of the agent")
	}
	return Run(m.On(a.ClusterID).Kubectl+InNamespace(namespace)+" logs "+strings.ToLower(a.Workload)+"/"+fleet.AgentName,
		"shows the log of the agent")
}

// LogsOf shows why a controller of Fleet does not act.
func (m *Maker) LogsOf(controller string) Remedy {
	namespace := cmp.Or(m.Facts.Result.Desired.Agents.ControllerNamespace, "cattle-fleet-system")
	return Run(m.Commands.Kubectl+InNamespace(namespace)+" logs deployment/"+controller,
		"shows the log of the controller")
}
