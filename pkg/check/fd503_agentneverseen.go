// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
)

func (in *pass) agentNeverSeen(a evaluate.Agent) {
	switch {
	case !a.Silent:
	case a.Cluster.Spec.KubeConfigSecret == "":
		in.report(in.neverRegistered(a))
	default:
		in.report(in.neverSeen(a))
	}
}

// neverSeen returns the finding about an agent that was imported.
func (in *Input) neverSeen(a evaluate.Agent) Finding {
	f := onCluster(a)
	f.Message = fmt.Sprintf("the agent of cluster %s was imported and has never reported", f.Cluster)
	f.AsOf = a.Cluster.Status.LastChange()
	f.Evidence = []string{"the status of the Cluster last changed at " + f.AsOf, limitOf(a.Heartbeat),
		fmt.Sprintf("the agent was installed for the API server %q", agentconfig.Shown(a.Cluster.Status.APIServerURL))}
	f.Evidence = append(f.Evidence, in.Errors(a.Cluster, "Imported")...)
	f.Remedies = []remedy.Remedy{in.LogsOfAgent(a)}
	return f
}

// neverRegistered returns the finding about an agent that registers itself. The controller names a Cluster after its
// clientID only if an agent has registered with it. Other Clusters were created by hand, and nothing here shows whether
// an agent has registered.
func (in *Input) neverRegistered(a evaluate.Agent) Finding {
	f, c := onCluster(a), a.Cluster
	f.Message = fmt.Sprintf("no agent has reported for cluster %s: its spec names no kubeconfig Secret, so its "+
		"agent must register itself", f.Cluster)
	if c.Name == fleet.RegisteredName(c.Spec.ClientID) {
		f.Message = fmt.Sprintf("the agent of cluster %s registered itself and has never reported", f.Cluster)
	}
	f.AsOf = c.Status.LastChange()
	created := c.CreationTimestamp.UTC().Format(time.RFC3339)
	f.Evidence = []string{"the Cluster was created at " + created, limitOf(a.Heartbeat)}
	if c.Status.Namespace == "" {
		f.Evidence = append(f.Evidence, "the controller has not given the Cluster a namespace: it cannot grant the "+
			"registration before that")
	}
	show := in.Commands.List("clusterregistrations", c.Namespace,
		"lists the registrations of agents, with their Clusters")
	f.Remedies = []remedy.Remedy{show, in.LogsOfAgent(a)}
	return f
}
