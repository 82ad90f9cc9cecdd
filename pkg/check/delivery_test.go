// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestLargeBundle checks the size from which a Bundle is reported, and that a narrower scope reports none.
func TestLargeBundle(t *testing.T) {
	for _, tc := range []struct {
		size, want int
		whole      bool
	}{{1 << 20, 0, true}, {1<<20 + 1, 1, true}, {1<<20 + 1, 0, false}} {
		in := inputOf(deployment(), evaluate.Ready)
		in.Result.Whole, in.Result.Deployments = tc.whole, evaluate.InOrder(in.Result.Desired.Deployments, nil)
		in.Result.Desired.Bundles = []*v1alpha1.Bundle{{Size: tc.size}}
		*in.Result = *evaluate.NewResult(*in.Result)
		if got := findings("FD703", in); len(got) != tc.want {
			t.Errorf("%d bytes, whole %v: %d findings, want %d", tc.size, tc.whole, len(got), tc.want)
		}
	}
}

// TestWillUninstallScope checks which removals a narrower scope reports: those whose BundleDeployment is in scope.
func TestWillUninstallScope(t *testing.T) {
	for _, tc := range []struct {
		name    string
		whole   bool
		expects bool // its BundleDeployment exists and is in scope
		want    int
	}{
		{"all", true, false, 1},
		{"another scope", false, false, 0},
		{"in scope", false, true, 1},
	} {
		d := deployment()
		x := &desired.Removal{Record: &state.Record{Record: release.Record{Name: d.Release, BundleID: "gone"}},
			Cycle: 1}
		if tc.expects {
			x.Expects = d.BD
		}
		d.AgentVersion = "v0.16.1"
		in := inputOf(d, evaluate.Ready)
		in.Result.Desired.Clusters[0].Leftovers = []*state.Record{x.Record}
		in.Result.Desired.Removals = []*desired.Removal{x}
		in.Result.Whole = tc.whole
		if got := findings("FD608", in); len(got) != tc.want {
			t.Errorf("%s: %d findings, want %d", tc.name, len(got), tc.want)
		}
		if got := findings("FD606", in); tc.whole && len(got) != 1-tc.want {
			t.Errorf("%s: %d findings of leftover releases", tc.name, len(got))
		}
	}
}

// TestBlocksHelm checks for which pending revisions the finding names the record to delete.
func TestBlocksHelm(t *testing.T) {
	for _, tc := range []struct {
		status   string
		revision int
		agent    string
		want     bool
	}{
		{"pending-upgrade", 2, "v0.16.1", false}, // revision 1 is recorded
		{"pending-upgrade", 2, "v0.12.0", false},
		{"pending-upgrade", 3, "v0.12.0", true},
		{"pending-rollback", 3, "", false},
		{"pending-install", 1, "v0.16.1", false},
		{"pending-install", 1, "v0.14.4", false},
		{"pending-install", 1, "v0.14.3", true},
		{"pending-install", 1, "v0.13.10", false},
		{"pending-install", 1, "v0.13.9", true},
		{"pending-install", 1, "dev", false},
		{"failed", 1, "v0.13.9", false},
	} {
		d := deployment()
		d.Agent = "cattle-fleet-system"
		d.AgentVersion = tc.agent
		problem := directory.RecordProblem{Record: release.Name{Namespace: "web", Name: "a", Revision: tc.revision},
			Status: tc.status, Since: time.Unix(0, 0), Predecessor: tc.revision == 2}
		if got := inputOf(d, evaluate.Ready).Facts.BlocksHelm(&d.Deployment, problem); got != tc.want {
			t.Errorf("%s, revision %d, agent %s: %v, want %v", tc.status, tc.revision, tc.agent, got, tc.want)
		}
	}
}

// TestFailedCorrections checks that a pruned revision is attributed to corrections only if they are enabled and failed.
func TestFailedCorrections(t *testing.T) {
	for _, tc := range []struct {
		correct bool
		status  string
		want    bool
	}{
		{true, release.StatusFailed, true},
		{true, "pending-rollback", false},
		{false, release.StatusFailed, false},
	} {
		d := deployment()
		d.BD.Spec.CorrectDrift = &v1alpha1.CorrectDrift{Enabled: tc.correct}
		d.RecordProblems = []directory.RecordProblem{{Record: d.Release, Status: "pruned"},
			{Record: d.Release, Status: tc.status}}
		in := inputOf(d, evaluate.Ready)
		if got := failedCorrections(in.Result.Deployments[0]); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// resolveWithAgent returns a cluster with an agent of a version that deploys the BundleDeployments in cluster-one.
func resolveWithAgent(tag string) *directory.Cluster {
	f := &state.Fleet{BundleDeployments: []*v1alpha1.BundleDeployment{deployment().BD}}
	c := &state.Cluster{AgentSecrets: map[string]string{"cattle-fleet-system": "cluster-one"},
		Workloads: map[string]state.Workload{"cattle-fleet-system": {Version: tag}}}
	return directory.Build(directory.Input{Fleet: f, Clusters: []*state.Cluster{c}}).Clusters[0]
}
