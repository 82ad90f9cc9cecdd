// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestCommandsOfOtherCluster checks that commands for release records and agents name the cluster that has them, not
// the management cluster.
func TestCommandsOfOtherCluster(t *testing.T) {
	d := deployment()
	pending := release.Name{Namespace: "web", Name: "guestbook", Revision: 2}
	d.RecordProblems = []directory.RecordProblem{{Record: pending, Status: "pending-upgrade",
		Detail: "revision 2 is pending", Since: now.Add(-time.Hour)}}
	agent := release.Name{Namespace: "cattle-fleet-system", Name: "fleet-agent-web", Revision: 1}
	d.AgentVersion = "v0.11.0"
	in := inputOf(d, evaluate.Ready)
	in.Result.Desired.Clusters[0].State.Latest = map[string]*state.Record{
		"cattle-fleet-system/fleet-agent-web": {Record: release.Record{Name: agent, Status: release.StatusFailed}},
	}
	in.Result.Source.TakenAt = now
	in.Steps.ClusterCommands = map[object.ClusterID]remedy.Commands{d.ClusterID: {Kubectl: "kubectl --context web",
		Helm: "helm --kube-context web"}}
	records := findings("FD602", in)
	if len(records) != 2 {
		t.Fatalf("%d findings, want those of two records", len(records))
	}
	for i, want := range []string{
		"kubectl fleetdoctor repair bundle/guestbook -n fleet-local --code=FD602 --allow=deploy",
		"helm --kube-context web -n cattle-fleet-system history fleet-agent-web"} {
		if got := records[i].Remedies[0].Command; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := &v1alpha1.Cluster{}
	c.Status.Agent.LastSeen = now.Add(-time.Hour).Format(time.RFC3339)
	got := in.Steps.LogsOfAgent(evaluate.Agent{Cluster: c, ClusterID: d.ClusterID, Workload: "StatefulSet"})
	if want := "kubectl --context web -n cattle-fleet-system logs statefulset/fleet-agent"; got.Command != want {
		t.Errorf("%q, want %q", got.Command, want)
	}
}

// TestPendingRecordInUse checks that a finding suggests to delete a pending record only if no agent can be at work on
// it, and that a live cluster has no finding about one on which an agent is at work.
func TestPendingRecordInUse(t *testing.T) {
	for _, tc := range []struct {
		since    time.Time
		origin   source.Origin
		findings int
		delete   bool
	}{
		{now.Add(-time.Hour), source.OriginCluster, 1, true},
		{now.Add(-time.Minute), source.OriginCluster, 0, false},
		{time.Time{}, source.OriginCluster, 1, false},
		{now.Add(-time.Hour), source.OriginSnapshot, 1, true},
		{now.Add(-time.Minute), source.OriginSnapshot, 1, false},
	} {
		d := deployment()
		d.AgentVersion = "v0.12.4"
		d.RecordProblems = []directory.RecordProblem{{Record: release.Name{Namespace: "web", Name: "guestbook",
			Revision: 2}, Status: "pending-upgrade", Since: tc.since}}
		in := inputOf(d, evaluate.Ready)
		in.Result.Source.TakenAt, in.Result.Source.Origin = now, tc.origin
		got := findings("FD602", in)
		if len(got) != tc.findings || len(got) == 1 &&
			strings.Contains(got[0].Remedies[0].Command, " --allow=deploy") != tc.delete {
			t.Errorf("%s, since %s: %+v", tc.origin, tc.since, got)
		}
	}
}
