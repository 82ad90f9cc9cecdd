// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
)

// agentNeverSeen reports an agent that was imported, or one that registers itself, and has never reported.
func (in *Input) agentNeverSeen(out *found, a evaluate.Agent) {
	r := in.Facts.RegistrationOf(a.Cluster)
	refused := len(facts.Refusals(a.Cluster)) > 0 // FD610 has the error
	if refused || !a.Silent && !r.Elsewhere(a) {
		return
	}
	f, c := onCluster(a), a.Cluster
	f.AsOf = c.Status.LastChange()
	if c.Spec.KubeConfigSecret == "" {
		in.neverRegistered(out, a, f, r)
		return
	}
	f.Message = fmt.Sprintf("the agent of cluster %s was imported and has never reported", f.Cluster)
	f.Evidence = []string{"the status of the Cluster last changed at " + f.AsOf,
		"an agent reports 15 seconds after its start"}
	idle := facts.IdleOf(a)
	f.sayIf(idle != "", idle)
	f.say("the agent was installed for the API server %q", escape.Address(c.Status.APIServerURL))
	out.report(f, in.Steps.LogsOfAgent(a))
}

// neverRegistered reports an agent that registers itself. The controller names a Cluster after its clientID only if an
// agent has registered with it. Other Clusters were created by hand, and nothing here shows whether an agent has
// registered.
func (in *Input) neverRegistered(out *found, a evaluate.Agent, f Finding, r facts.Registration) {
	c := a.Cluster
	f.Message = fmt.Sprintf("no agent has reported for cluster %s: its spec names no kubeconfig Secret, so its agent "+
		"must register itself", f.Cluster)
	switch {
	case c.Spec.ClientID == "":
		f.Message = fmt.Sprintf("no agent can report for cluster %s: its spec has neither kubeConfigSecret, with "+
			"which Fleet installs an agent, nor clientID, by which an agent registers itself", f.Cluster)
	case c.Name == fleet.RegisteredName(c.Spec.ClientID), r.Granted(c):
		f.Message = fmt.Sprintf("the agent of cluster %s registered itself and has never reported", f.Cluster)
	}
	if why := r.Why(c); why != "" {
		f.Message = fmt.Sprintf("no agent has reported for cluster %s: %s", f.Cluster, why)
	}
	f.Evidence = append(r.Others(c), "the Cluster was created at "+facts.Time(c.CreationTimestamp.Time))
	f.sayIf(c.Status.Namespace == "", "the controller has not given the Cluster a namespace: it cannot grant the "+
		"registration before that")
	out.report(f, in.Steps.LogsOfAgent(a))
}
