// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// TestOtherCluster has Fleet manage a second cluster. The report shows only what Fleet reports for it, without a
// finding.
func TestOtherCluster(t *testing.T) {
	const edge = "cluster-fleet-default-edge-0123456789ab"
	f := newFleet(t, shared)
	f.deploy("guestbook", theme)
	f.namespace("fleet-default")
	f.namespace(edge)
	f.ApplyYAML(t, controller, `
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: edge, namespace: fleet-default}
status: {namespace: `+edge+`, agent: {namespace: cattle-fleet-system}, summary: {desiredReady: 1, ready: 1},
  resourceCounts: {desiredReady: 7, ready: 7}}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: BundleDeployment
metadata:
  name: guestbook # the other cluster has a bundle with this name too
  namespace: `+edge+`
  labels: {fleet.cattle.io/bundle-name: guestbook, fleet.cattle.io/bundle-namespace: fleet-default}
spec: {deploymentID: "s-1:1", stagedDeploymentID: "s-1:1"}
status: {appliedDeploymentID: "s-1:1", release: "apps/guestbook:1", ready: true, nonModified: true, display: {state: Ready},
  resourceCounts: {desiredReady: 7, ready: 7}}
`)
	r := f.audit("--require-complete")
	if r.status != 0 || len(r.report.BundleDeployments) != 2 || len(r.report.Findings) > 0 {
		t.Fatalf("status %d, %d deployments, findings %+v", r.status, len(r.report.BundleDeployments), r.report.Findings)
	}
	// The order is by namespace.
	other, this := r.report.BundleDeployments[0], r.report.BundleDeployments[1]
	if other.State != "Unknown" || other.Reason != "ClusterNotRead" || *other.Reported.Ready != 7 || len(other.Resources) > 0 {
		t.Errorf("of the other cluster: %+v", other)
	}
	if this.State != "Ready" || this.Counts.Ready != 1 {
		t.Errorf("of this cluster: %+v", this)
	}
}
