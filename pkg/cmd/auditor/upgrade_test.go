// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
)

// TestRightsKept checks that an upgrade does not extend the rights of the auditor unless a flag says so.
func TestRightsKept(t *testing.T) {
	role := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(role, []byte("kind: ClusterRole\nrules:\n- {apiGroups: [apps], resources: [deployments]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	rules := func() []rbacv1.PolicyRule {
		var r rbacv1.ClusterRole
		if err := shared.Client().Get(t.Context(), client.ObjectKey{Name: auditor.Name}, &r); err != nil {
			t.Fatal(err)
		}
		return r.Rules
	}
	installed(t, "narrow", "--read-rules", role, "--image=registry.example.com/doctor:1")
	before := rules()
	r := must(t, "install", "--replicas=1")
	want := `Note: kept image: {"digest":"","repository":"registry.example.com/doctor","tag":"1"}` + "\n" +
		`Note: kept readRules: [{"apiGroups":["apps"],"resources":["deployments"]}]` + "\n"
	if diff := cmp.Diff(want, r.errOut); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, rules()); diff != "" {
		t.Errorf("rules (-before +after):\n%s", diff)
	}
	must(t, "install", "--reset-values")
	for _, rule := range rules() {
		if cmp.Equal(rule.Resources, []string{"*"}) {
			return
		}
	}
	t.Errorf("--reset-values kept the rules %v", rules())
}
