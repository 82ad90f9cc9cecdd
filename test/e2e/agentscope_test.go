// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
)

// TestScopeDeclaredWrongly rebuilds what was seen on a running Fleet: the agent has no scope, its Deployment cannot be read, and the spec of
// the Cluster declares a scope. Nothing is called unowned because of that, and nothing is written until the scope is stated.
func TestScopeDeclaredWrongly(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.ApplyYAML(t, "admin", `
apiVersion: fleet.cattle.io/v1alpha1
kind: Cluster
metadata: {name: local, namespace: `+workspace+`}
spec: {kubeConfigSecret: local-cluster, agentNamespace: `+agentNamespace+`}
`)
	blind := f.user("blind", rule("", "*", "get", "list", "patch"), rule("fleet.cattle.io", "*", "get", "list"))
	const finding = "FD504 cluster.fleet.cattle.io " + workspace + "/local"

	expect(t, audit(t, blind), outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Ready"},
		Findings:    []string{finding},
		Gaps:        []string{unsearched + ": not readable"},
	})

	strays := parts()[:1]
	healthy := f.getAll(parts()[1:]...)
	f.strip(strays...)
	before := f.getAll(strays...)
	refused := f.adopt("--yes", "--kubeconfig", blind)
	expectAdoption(t, refused, 1, map[string]string{settings: "Refuse NoMark"})
	says(t, "the refusal", refused.object(t, settings).Refusals[0], "cluster fleet-local/local declares scope", "no running agent shows which is right", "--agent-scope")
	f.unchanged(before...)
	f.unchanged(healthy...)

	adopted := f.adopt("--yes", "--agent-scope=", "--kubeconfig", blind)
	expectAdoption(t, adopted, 0, map[string]string{settings: "Adopt NoMark Done"})
	b.onlyMarks(b.stamps(), before...)
	f.unchanged(healthy...)

	contradicted := f.adopt("--yes", "--agent-scope="+agentNamespace)
	if contradicted.status != 3 {
		t.Errorf("status %d, want 3: the Deployment of the agent, which the administrator can read, has no scope", contradicted.status)
	}
	says(t, "stderr", contradicted.stderr, "the running agent contradicts --agent-scope", "shows no scope")
	f.unchanged(healthy...)
}
