// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
)

// TestTenantDeployment checks that a Deployment in the namespace of a tenant does not change where the auditor is
// installed, and that it is not removed with the auditor.
func TestTenantDeployment(t *testing.T) {
	installed(t, "real")
	shared.Namespace(t, "a-tenant")
	d := &appsv1.Deployment{}
	if err := shared.Client().Get(t.Context(), client.ObjectKey{Namespace: "real", Name: auditor.Name},
		d); err != nil {
		t.Fatal(err)
	}
	d.ObjectMeta = metav1.ObjectMeta{Namespace: "a-tenant", Name: d.Name, Labels: d.Labels}
	shared.Create(t, d)
	for _, args := range [][]string{{"install"}, {"install", "-n", "real"}} {
		if r := must(t, args...); !strings.HasPrefix(r.out, "namespace/real applied\n") {
			t.Errorf("%v: %s%s", args, r.out, r.errOut)
		}
	}
	if r := run(t.Context(), shared.Kubeconfig(t), "status"); !strings.HasPrefix(r.out, "Namespace:  real\n") {
		t.Errorf("status: %s%s", r.out, r.errOut)
	}
	if r := must(t, "uninstall", "--yes"); !strings.Contains(r.errOut, "Namespace real is kept") {
		t.Errorf("uninstall: %s%s", r.out, r.errOut)
	}
	if err := shared.Client().Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Error(err)
	}
	want := "namespace/fleetdoctor-system applied (server dry run)\n"
	if r := must(t, "install", "--dry-run=server"); !strings.HasPrefix(r.out, want) {
		t.Errorf("without an installation: %s%s", r.out, r.errOut)
	}
}

// TestStatusUnknownNamespace checks that an installation in another namespace does not count as absent if the user may
// not read the object that names its namespace.
func TestStatusUnknownNamespace(t *testing.T) {
	installed(t, "hidden")
	shared.Grant(t, "limited", "", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"},
		Verbs: []string{"get", "list"}})
	r := run(t.Context(), shared.UserKubeconfig(t, "limited"), "status")
	if r.status != 3 || r.out != "" || !strings.Contains(r.errOut, "cannot get resource \"clusterrolebindings\"") {
		t.Errorf("status %d: %s%s", r.status, r.out, r.errOut)
	}
}
