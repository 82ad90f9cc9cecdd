// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
)

// TestScopeDeclaredWrongly has an agent without scope, whose Deployment cannot be read, and a Cluster that
// declares a scope. No object is reported as unowned for that reason, and nothing is written until the user states
// the scope.
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

	stripped := guestbookObjects()[:1]
	healthy := f.getAll(guestbookObjects()[1:]...)
	f.removeOwnership(stripped...)
	before := f.getAll(stripped...)
	refused := f.adopt("--yes", "--kubeconfig", blind)
	expectAdoption(t, refused, 1, map[string]string{settings: "Refuse NoMark"})
	expectContains(t, "the refusal", refused.object(t, settings).Refusals[0], "cluster fleet-local/local",
		"no running agent", "--agent-scope")
	f.expectUnchanged(before...)
	f.expectUnchanged(healthy...)

	adopted := f.adopt("--yes", "--agent-scope=", "--kubeconfig", blind)
	expectAdoption(t, adopted, 0, map[string]string{settings: "Adopt NoMark Done"})
	b.expectOnlyOwnership(b.ownership(), before...)
	f.expectUnchanged(healthy...)

	contradicting := f.adopt("--yes", "--agent-scope="+agentNamespace)
	if contradicting.status != 3 {
		t.Errorf("status %d, want 3: the Deployment of the agent, which the administrator can read, has no scope",
			contradicting.status)
	}
	expectContains(t, "stderr", contradicting.stderr, "contradicts --agent-scope")
	f.expectUnchanged(healthy...)
}
