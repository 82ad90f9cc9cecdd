// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// TestInstallForeign checks that nothing is written if one of the objects belongs to another program, or to nobody.
func TestInstallForeign(t *testing.T) {
	f := onCluster(t)
	binding := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io",
		Kind: "ClusterRole", Name: "view"}}
	binding.Name = installation.Name
	f.Create(t, binding)
	for _, dryRun := range []string{"server", "none"} {
		r := f.call(t, "install", "-n", "foreign", "--dry-run="+dryRun)
		if r.status != 3 || r.out != "" || !strings.Contains(r.errOut, `ClusterRoleBinding "fleetdoctor-webhook"`) ||
			!strings.Contains(r.errOut, "Nothing was written.") {
			t.Errorf("status %d, printed %s%s", r.status, r.out, r.errOut)
		}
	}
	f.absent(t, &rbacv1.ClusterRole{}, "", installation.Name)
	f.absent(t, &corev1.Namespace{}, "", "foreign")
	if r := f.must(t, "uninstall", "-n", "foreign", "--yes"); r.out != "" ||
		!strings.Contains(r.errOut, "Nothing to remove") {
		t.Errorf("an uninstallation of an object of others printed:\n%s%s", r.out, r.errOut)
	}
	f.get(t, &rbacv1.ClusterRoleBinding{}, "", installation.Name)
}

// TestDeployedByFleet checks that no verb changes an installation by Fleet, which would undo it.
func TestDeployedByFleet(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "fleeted")
	hash := func(value string) {
		f.patch(t, &rbacv1.ClusterRoleBinding{}, "", installation.Name,
			`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":`+value+`}}}`)
	}
	hash(`"0a"`)
	for _, args := range [][]string{{"install"}, {"install", "--dry-run=server"}, {"uninstall", "--yes"}} {
		r := f.call(t, args...)
		want := "error: the webhook is deployed by Fleet (release fleeted/fleetdoctor-webhook), which would undo the " +
			"change\n"
		if r.status != 3 || r.out != "" || !strings.HasPrefix(r.errOut, want) {
			t.Errorf("%v: status %d: %s%s", args, r.status, r.out, r.errOut)
		}
		if advice := f.stopCalls() + "\n"; !strings.HasSuffix(r.errOut, advice) {
			t.Errorf("%v: the advice is not %q: %s", args, advice, r.errOut)
		}
	}
	hash("null")
}

// TestTenantDeployment checks that a Deployment with the label of the webhook, in the namespace of a tenant, does not
// change where the webhook is installed, and that it is not removed with the webhook.
func TestTenantDeployment(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "real")
	f.Namespace(t, "a-tenant")
	d := &appsv1.Deployment{}
	f.get(t, d, "real", installation.Name)
	d.ObjectMeta = metav1.ObjectMeta{Namespace: "a-tenant", Name: d.Name, Labels: d.Labels}
	f.Create(t, d)
	f.stop(t) // not even without the webhook configurations
	if r := f.must(t, "install"); !strings.HasPrefix(r.out, "namespace/real applied\n") {
		t.Errorf("install: %s%s", r.out, r.errOut)
	}
	if r := f.call(t, "status"); !strings.HasPrefix(r.out, "Namespace:  real\n") {
		t.Errorf("status: %s%s", r.out, r.errOut)
	}
	f.must(t, "uninstall", "--yes")
	f.get(t, d, "a-tenant", installation.Name)
	want := "namespace/fleetdoctor-system applied (server dry run)\n"
	if r := f.must(t, "install", "--dry-run=server"); !strings.HasPrefix(r.out, want) {
		t.Errorf("without an installation: %s%s", r.out, r.errOut)
	}
}

// TestOtherService checks that an upgrade corrects a webhook configuration that names another namespace, and that only
// the ClusterRoleBinding decides where the webhook is installed.
func TestOtherService(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "one")
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"replace","path":"/webhooks/0/clientConfig/service/namespace","value":"two"}]`)
	if r := f.call(t, "status"); !strings.HasPrefix(r.out, "Namespace:  one\n") {
		t.Errorf("status: %s%s", r.out, r.errOut)
	}
	f.must(t, "install")
	if s := f.mutating(t).Webhooks[0].ClientConfig.Service; s.Namespace != "one" {
		t.Errorf("the webhook is called in namespace %s", s.Namespace)
	}
}

// TestOneInstallation checks that the installation of a cluster is found without its namespace, and that a second one
// is refused.
func TestOneInstallation(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "first")
	for _, args := range [][]string{{"install", "-n", "second"}, {"uninstall", "--yes", "-n", "second"}} {
		r := f.call(t, args...)
		if r.status != 3 || r.out != "" || !strings.Contains(r.errOut,
			"error: the webhook is installed in namespace first, not in second\n") {
			t.Errorf("%v: status %d: %s%s", args, r.status, r.out, r.errOut)
		}
	}
	if r := f.must(t, "install"); !strings.HasPrefix(r.out, "namespace/first applied\n") {
		t.Errorf("install, without -n: %s", r.out)
	}
	if r := f.call(t, "status"); !strings.HasPrefix(r.out, "Namespace:  first\n") {
		t.Errorf("status, without -n: %s", r.out)
	}
	if r := f.must(t, "uninstall", "--yes"); !strings.Contains(r.out, "secret/fleetdoctor-webhook-cert deleted\n") {
		t.Errorf("uninstall, without -n: %s", r.out)
	}
}
