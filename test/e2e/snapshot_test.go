// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// TestSnapshotAndLive loads a captured cluster into a server and audits both. The reports are the same, except for
// managers and times, which the server records anew.
func TestSnapshotAndLive(t *testing.T) {
	t.Parallel()
	const dir = "../testdata/sick"
	c := cluster.Start(t)
	c.LoadSnapshot(t, dir)
	// The server starts the generation of this Deployment anew, and no controller observes it.
	f := &fleetServer{Cluster: c, t: t}
	f.merge("kube-controller-manager", object("apps/v1", "Deployment", "guestbook", "frontend"),
		`{"status":{"observedGeneration":1}}`, "status")
	captured := run(t.Context(), t, "audit", "--snapshot", dir, "-o", "json")
	captured.report = &report.Audit{}
	if err := json.Unmarshal([]byte(captured.stdout), captured.report); err != nil {
		t.Fatalf("%v\n%s", err, captured.stderr)
	}
	// The server is audited at the time of the capture: later, the agent in it would be stale.
	taken, err := time.Parse(time.RFC3339, captured.report.TakenAt)
	if err != nil {
		t.Fatal(err)
	}
	env := cli.Environment{Now: func() time.Time { return taken }}
	live := auditWith(t, env, c.Kubeconfig(t), "--server-check", "never")
	if len(captured.report.Findings) == 0 {
		t.Error("no findings in testdata/sick")
	}
	expect(t, live, outcomeOf(captured))
	if diff := cmp.Diff(captured.report, live.report,
		cmpopts.IgnoreFields(report.Audit{}, "TakenAt", "Source", "Notes"),
		cmpopts.IgnoreFields(report.Difference{}, "Manager", "Operation", "Subresource", "Time"),
		cmpopts.IgnoreFields(report.Finding{}, "Evidence", "Remedies", "Remediation", "AsOf")); diff != "" {
		t.Errorf("-captured +live:\n%s", diff)
	}
	if diff := cmp.Diff(captured.report.Source.FleetVersions, live.report.Source.FleetVersions); diff != "" {
		t.Errorf("Fleet's versions (-captured +live):\n%s", diff)
	}
	// The server's dry run confirms the differences.
	expect(t, auditWith(t, env, c.Kubeconfig(t)), outcomeOf(captured))
}
