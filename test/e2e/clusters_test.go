// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// edge is the namespace of the BundleDeployments of the second cluster.
const edge = "cluster-fleet-default-edge-0123456789ab"

// manageEdge adds a second cluster to Fleet, with the bundle guestbook. kubeconfig is the name of the Secret with its
// kubeconfig.
func (f *fleetServer) manageEdge(kubeconfig string) {
	f.t.Helper()
	f.namespace("fleet-default")
	f.namespace(edge)
	f.ApplyYAML(f.t, controller, `
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: edge, namespace: fleet-default}
spec: {kubeConfigSecret: "`+kubeconfig+`"}
status: {namespace: `+edge+`, agent: {namespace: `+agentNamespace+`}, summary: {desiredReady: 1, ready: 1},
  resourceCounts: {desiredReady: 1, ready: 1}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: Bundle
metadata: {name: guestbook, namespace: fleet-default}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata:
  name: guestbook # the other cluster has a bundle with this name too
  namespace: `+edge+`
  labels: {fleet.cattle.io/bundle-name: guestbook, fleet.cattle.io/bundle-namespace: fleet-default,
    fleet.cattle.io/cluster: edge, fleet.cattle.io/cluster-namespace: fleet-default}
spec: {deploymentID: "s-1:1", stagedDeploymentID: "s-1:1"}
status:
  appliedDeploymentID: "s-1:1"
  release: "apps/guestbook:1"
  ready: true
  nonModified: true
  display: {state: Ready}
  resourceCounts: {desiredReady: 1, ready: 1}
`)
}

// TestOtherCluster has Fleet manage a second cluster. The report shows only what Fleet reports for it, without a
// finding.
func TestOtherCluster(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	f.manageEdge("")
	if got := f.audit("--require-complete"); got.status != 3 {
		t.Errorf("status %d, although a cluster was not read", got.status)
	}
	r := f.audit()
	if r.status != 0 || len(r.report.BundleDeployments) != 2 || len(r.report.Findings) > 0 {
		t.Fatalf("status %d, %d deployments, findings %+v", r.status, len(r.report.BundleDeployments),
			r.report.Findings)
	}
	// The order is by namespace.
	other, this := r.report.BundleDeployments[0], r.report.BundleDeployments[1]
	if other.State != "Unknown" || other.Reason != "ClusterNotRead" || *other.Reported.Ready != 1 ||
		len(other.Resources) > 0 {
		t.Errorf("of the other cluster: %+v", other)
	}
	if this.State != "Ready" || this.Counts.Ready != 1 {
		t.Errorf("of this cluster: %+v", this)
	}
}

// TestRepairAsksAgents: on a cluster that is not read, its agent is asked. The plan names the cluster, and says whether
// the agent reports.
func TestRepairAsksAgents(t *testing.T) {
	f := newFleet(t, shared)
	f.manageEdge("")
	bd := object("fleet.cattle.io/v1alpha1", "BundleDeployment", edge, "guestbook")
	f.merge(controller, bd, `{"status": {"nonModified": false, "display": {"state": "Modified"}, "modifiedStatus":
		[{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "apps", "name": "theme", "missing": true}]}}`, "status")
	seen := func(at time.Time) {
		f.merge(controller, object("fleet.cattle.io/v1alpha1", "Cluster", "fleet-default", "edge"), fmt.Sprintf(
			`{"status": {"agent": {"lastSeen": %q}}}`, at.UTC().Format(time.RFC3339)), "status")
	}
	for want, ago := range map[string]time.Duration{"each has reported": time.Minute,
		"1 without a report": time.Hour} {
		seen(time.Now().Add(-ago))
		a := f.repair("--dry-run=client", "--allow=deploy")
		expectSteps(t, a, 0, map[string]string{keyOf(bd): "Deploy"})
		expectContains(t, "the notes", strings.Join(a.document.Notes, "; "), "agents are asked: 1 (edge); "+want)
	}
}

// TestTwoClusters reads the management cluster and a second API server in one run, in two ways. A third server does not
// answer.
func TestTwoClusters(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	downstream := onServer(t, cluster.Start(t))
	kubeconfig, err := os.ReadFile(downstream.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	f.manageEdge("edge-kubeconfig")
	f.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-kubeconfig", Namespace: "fleet-default"},
		Data: map[string][]byte{"value": kubeconfig}})
	downstream.ApplyYAML(t, controller, agentSecret(edge))
	id := fleet.SetID("guestbook", "")
	downstream.InstallRelease(t, cluster.ReleaseOptions{BundleID: "guestbook", Namespace: apps, SetID: id,
		Hash: fleet.Hash(id), AgentNamespace: agentNamespace,
		Manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: theme}, data: {colour: blue}}"})
	downstream.merge("kubectl-edit", configMap("theme"), `{"data":{"colour":"red"}}`)

	silent := f.proxy()
	ended := make(chan struct{})
	defer close(ended)
	silent.onRequest(func(*http.Request) { <-ended })
	for name, args := range map[string][]string{
		"a kubeconfig for each cluster": {"--cluster", "edge=" + downstream.kubeconfig, "--cluster", "silent=" +
			silent.kubeconfig, "--request-timeout", "5s"},
		"the kubeconfig in a Secret": {"--via-kubeconfig-secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.audit(args...)
			if r.report == nil {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			got := map[string]string{}
			for _, bd := range r.report.BundleDeployments {
				got[bd.Namespace] = string(bd.State) + bd.Reason
			}
			if diff := cmp.Diff(map[string]string{clusterNamespace: "Ready", edge: "Modified"}, got); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			for _, f := range r.report.Findings {
				if f.Code == "FD104" && f.Cluster != "fleet-default/edge" {
					t.Errorf("the finding is on cluster %q", f.Cluster)
				}
			}
			for _, g := range r.report.Gaps {
				if g.Cluster != "silent" || g.Reason != "ReadFailed" {
					t.Errorf("unexpected gap %+v", g)
				}
			}
			if strings.Contains(r.stdout, "client-key-data") {
				t.Error("the report shows the kubeconfig")
			}
		})
	}

	// Both clusters have a bundle that desires the object. Only one of them writes it again after an undo.
	done := f.repair("--yes", "--cluster", "edge="+downstream.kubeconfig)
	expectSteps(t, done, 0, map[string]string{keyOf(configMap("theme")): "Restore Done"})
	undone := f.repair("--yes", "--cluster", "edge="+downstream.kubeconfig, "--undo", done.receipt)
	if len(undone.document.Notes) != 1 || !strings.Contains(undone.document.Notes[0], edge+"/guestbook") {
		t.Errorf("after the undo: %q: %s", undone.document.Notes, undone.stderr)
	}
}
