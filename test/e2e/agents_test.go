// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const kubeconfigToken = "s3cr3t-token-of-a-kubeconfig"

// withImported adds a controller of Fleet 0.12 and a Cluster that it imported with the URL of its kubeconfig Secret.
func withImported(f *fleetServer) {
	f.t.Helper()
	f.namespace("cattle-fleet-system")
	f.ApplyYAML(f.t, controller, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: fleet-controller, namespace: cattle-fleet-system}
data: {config: '{"apiServerURL":"","apiServerCA":"","agentTLSMode":"strict","agentCheckinInterval":"15m"}'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: fleet-controller, namespace: cattle-fleet-system}
spec:
  selector: {matchLabels: {app: fleet-controller}}
  template:
    metadata: {labels: {app: fleet-controller}}
    spec: {containers: [{name: fleet-controller, image: "rancher/fleet:v0.12.4"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: imported-kubeconfig, namespace: %[1]s}
stringData:
  apiServerURL: https://rancher.example.com
  value: |
    apiVersion: v1
    kind: Config
    clusters: [{name: c, cluster: {server: 'https://10.0.0.1'}}]
    users: [{name: u, user: {token: %[2]s}}]
---
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: imported, namespace: %[1]s}
spec: {kubeConfigSecret: imported-kubeconfig, clientID: client}
status:
  agent: {namespace: cattle-fleet-system, lastSeen: %[3]q}
  agentDeployedGeneration: 0
  agentMigrated: true
  agentNamespaceMigrated: true
  cattleNamespaceMigrated: true
  agentTLSMode: strict
  apiServerURL: https://rancher.example.com
  apiServerCAHash: 106eab90d1bb9f41a6bc937ccb191f4ff67809fffb93ce4a6e81822d
`, workspace, kubeconfigToken, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)))
}

// agents runs the verb and decodes its report.
func (f *fleetServer) agents(status int, args ...string) *report.Agents {
	f.t.Helper()
	r := run(f.t.Context(), f.t, slices.Concat([]string{"agents", "-o", "json"}, args)...)
	if r.status != status {
		f.t.Fatalf("agents %v: status %d, want %d: %s", args, r.status, status, r.stderr)
	}
	if strings.Contains(r.stdout+r.stderr, kubeconfigToken) {
		f.t.Errorf("agents %v: a token is in the output", args)
	}
	out := &report.Agents{}
	if err := json.Unmarshal([]byte(r.stdout), out); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// TestAgents predicts an import on a live management cluster, as administrator and as users who may not read
// everything.
func TestAgents(t *testing.T) {
	f := newFleet(t, shared)
	withImported(f)
	clusters := rule("fleet.cattle.io", "clusters", "list")
	workloads, configs, secrets := rule("apps", "deployments,statefulsets", "list"), rule("", "configmaps", "list"),
		rule("", "secrets", "list")
	for _, tc := range []struct {
		name       string
		kubeconfig string
		status     int
		results    string // of the present and of a newer controller
		findings   string
		gaps       []string
	}{
		{"administrator", f.kubeconfig, 1, "re-import none", "FD501 FD502", nil},
		{"sufficient permissions", f.user("agents-reader", clusters, workloads, configs, secrets), 1, "re-import none",
			"FD501 FD502", nil},
		{"without Secrets", f.user("agents-no-secrets", clusters, workloads, configs), 1, "unknown unknown", "FD502",
			[]string{"reading the kubeconfig Secrets in namespace fleet-local: Forbidden"}},
		{"without ConfigMaps", f.user("agents-no-configmaps", clusters, workloads, secrets), 3, "unknown unknown", "",
			[]string{"reading ConfigMap fleet-controller: Forbidden"}},
		{"without Deployments", f.user("agents-no-deployments", clusters, configs, secrets), 1, "unknown none", "FD502",
			nil},
	} {
		got := f.agents(tc.status, "--kubeconfig", tc.kubeconfig)
		i := slices.IndexFunc(got.Agents, func(a report.Agent) bool { return a.Name == "imported" })
		if i < 0 {
			t.Fatalf("%s: %d agents, not the imported one", tc.name, len(got.Agents))
		}
		a := got.Agents[i]
		if results := a.Now.Result + " " + a.AfterUpgrade.Result; results != tc.results ||
			strings.Join(a.Findings, " ") != tc.findings {
			t.Errorf("%s: %s with %v, want %s with %s", tc.name, results, a.Findings, tc.results, tc.findings)
		}
		var gaps []string
		for _, g := range got.Gaps {
			gaps = append(gaps, g.What+": "+g.Reason)
		}
		if diff := cmp.Diff(tc.gaps, gaps); diff != "" {
			t.Errorf("%s: gaps (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestRequestsOfAgents: the verb lists Clusters and what they name, and nothing else.
func TestRequestsOfAgents(t *testing.T) {
	f := newFleet(t, shared)
	withImported(f)
	p := f.proxy()
	f.agents(1, "--kubeconfig", p.kubeconfig)
	lists := slices.DeleteFunc(p.requestLines(), func(r string) bool { return !strings.Contains(r, "?") })
	want := []string{
		"GET /api/v1/configmaps?fieldSelector=metadata.name=fleet-controller&limit=500",
		"GET /api/v1/namespaces/fleet-local/secrets?fieldSelector=metadata.name=imported-kubeconfig&limit=500",
		"GET /api/v1/secrets?fieldSelector=metadata.name=fleet-agent&limit=500",
		"GET /apis/apps/v1/deployments?fieldSelector=metadata.name=fleet-agent&limit=500",
		"GET /apis/apps/v1/deployments?fieldSelector=metadata.name=fleet-controller&limit=500",
		"GET /apis/apps/v1/statefulsets?fieldSelector=metadata.name=fleet-agent&limit=500",
		"GET /apis/fleet.cattle.io/v1alpha1/clusters?limit=500",
	}
	if diff := cmp.Diff(want, lists); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
}

// TestAuditOfAgents: an audit reports the import with the URL, and hides the token of the kubeconfig where another
// object quotes it.
func TestAuditOfAgents(t *testing.T) {
	f := newFleet(t, shared)
	withImported(f)
	f.deploy("guestbook", guestbook)
	f.merge("kubectl-edit", configMap("settings"), fmt.Sprintf(`{"data":{"colour":%q}}`, kubeconfigToken))
	r := f.audit()
	if r.report == nil {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	i := slices.IndexFunc(r.report.Findings, func(x report.Finding) bool { return x.Code == "FD501" })
	if i < 0 || !strings.Contains(strings.Join(r.report.Findings[i].Evidence, "\n"), "https://rancher.example.com") {
		t.Errorf("FD501 is missing or does not show the URL: %+v", r.report.Findings)
	}
	if strings.Contains(r.stdout, kubeconfigToken) {
		t.Error("the token of a kubeconfig is in the report")
	}
}
