// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
)

// OfAgent returns the codes of the findings about an agent.
func OfAgent(a evaluate.Agent) []string {
	var out []string
	if facts.Reimported(a) {
		out = append(out, codes.WillReimport)
	}
	if facts.Stopped(a) || facts.Broken(a) {
		out = append(out, codes.AgentStale)
	}
	if a.Silent {
		out = append(out, codes.AgentNeverSeen)
	}
	return out
}

// idleAgent is why the agent of the Cluster with a namespace does not run, as a sentence; empty if nothing shows that.
func (in *Input) idleAgent(namespace string) string {
	a, known := in.Facts.AgentOf(namespace)
	if !known {
		return ""
	}
	return facts.IdleOf(a)
}

// onCluster returns a finding about a Cluster.
func onCluster(a evaluate.Agent) Finding {
	c := a.Cluster
	return Finding{Object: facts.RefTo(c), Cluster: facts.Key(c), AsOf: c.Status.Agent.LastSeen}
}
