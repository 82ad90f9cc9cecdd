// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
)

var agentNeverSeen = Check{
	Code: "FD503", Name: "AgentNeverSeen", Severity: Warning,
	Title: "the agent of a Cluster was imported and has never reported",
	Explain: "The controller installed the agent, and no heartbeat came within three intervals. Fleet shows the Cluster as WaitCheckIn. Usually the pod of the agent does not start, " +
		"or it cannot reach the API server at the URL, or with the CA, that the controller gave to it.",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.agents() {
			if !a.Silent {
				continue
			}
			f := onCluster(a)
			f.Message = fmt.Sprintf("the agent of cluster %s was imported and has never reported", f.Cluster)
			f.AsOf = a.Cluster.Status.LastChange()
			f.Evidence = []string{"the status of the Cluster last changed at " + f.AsOf, limitOf(a.Heartbeat),
				fmt.Sprintf("the agent was installed for the API server %q", agentconfig.Shown(a.Cluster.Status.APIServerURL))}
			f.Remedies = []Remedy{in.logsOfAgent(a)}
			report(f)
		}
	},
}
