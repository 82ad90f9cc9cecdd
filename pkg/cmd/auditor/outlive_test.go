// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// agentObjects are the objects of an agent, and of a management cluster to which another agent stopped reporting.
const agentObjects = `
apiVersion: v1
kind: Secret
metadata: {name: fleet-agent, namespace: cattle-fleet-system}
stringData: {deploymentNamespace: cluster-outlived}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fleet-agent, namespace: cattle-fleet-system}
spec:
  selector: {matchLabels: {app: fleet-agent}}
  template:
    metadata: {labels: {app: fleet-agent}}
    spec: {containers: [{name: fleet-agent, image: "rancher/fleet-agent:v0.15.1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fleet-controller, namespace: cattle-fleet-system}
data: {config: '{"apiServerURL":"","apiServerCA":"","agentTLSMode":"strict","agentCheckinInterval":"15m"}'}
---
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: silent, namespace: fleet-silent}
spec: {clientID: client}
status:
  namespace: cluster-silent
  agent: {namespace: cattle-fleet-system, lastSeen: %q}
`

// TestOutlives removes what the auditor watches: its own release, as Fleet's agent does when its bundle is gone, and
// the agent. The auditor keeps its rights, and its metrics still raise the alerts of a missing object and of a silent
// agent.
func TestOutlives(t *testing.T) {
	const ns, app = "outlives", "outlived"
	for _, name := range []string{ns, app, "cattle-fleet-system", "fleet-silent"} {
		shared.Namespace(t, name)
	}
	text := fmt.Sprintf(agentObjects, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	shared.ApplyYAML(t, "fleetcontroller", text)
	remove := func(kind, apiVersion, namespace, name string) {
		o := cluster.Object(apiVersion, kind, namespace, name)
		err := shared.Client().Delete(context.WithoutCancel(t.Context()), o)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		remove("Cluster", "fleet.cattle.io/v1alpha1", "fleet-silent", "silent")
		remove("ConfigMap", "v1", "cattle-fleet-system", "fleet-controller")
	})
	deployed(t, app)
	installed(t, ns, "--keep")
	a := serve(t, asAuditor(ns), ns)
	remove("ConfigMap", "v1", app, app+"-0")
	raised := []string{
		`fleetdoctor_object_state\{.*name="outlived".*object="outlived-0".*state="Missing"} 1`,
		`fleetdoctor_finding\{.*code="FD101".*object="outlived-0".* 1`,
		`fleetdoctor_finding\{.*code="FD502".*object="silent".* 1`,
	}
	a.awaits(t, raised...)

	helmUninstall(t, ns)
	remove("Deployment", "apps/v1", "cattle-fleet-system", "fleet-agent")
	remove("Secret", "v1", "cattle-fleet-system", "fleet-agent")
	// Later changes still arrive, so this is no old state.
	remove("ConfigMap", "v1", app, app+"-1")
	a.awaits(t, `fleetdoctor_finding\{.*code="FD101".*object="outlived-1".* 1`)
	for _, line := range append(raised, "fleetdoctor_auditor_synced 1", "fleetdoctor_auditor_leader 1",
		`fleetdoctor_auditor_gaps{optional="false"} 0`) {
		if !a.exports(t, line) {
			t.Errorf("without the agent and its release, the auditor does not export %s:\n%s", line, a.log)
		}
	}
}
