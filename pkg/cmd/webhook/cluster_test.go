// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
)

// fixture is a cluster on which Fleet has deployed a bundle, and the kubeconfig of its administrator.
type fixture struct {
	*cluster.Cluster
	kubeconfig string
}

// setHash is the hash of the set default-guestbook.
const setHash = "c5c68538ff9800def965853a87784a250ad1f566"

// shared is a real API server without controllers: no pod starts, and a deleted namespace exists until its test ends.
var shared *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Run(m, &shared)) }

// onCluster returns a fixture with a deployed bundle.
func onCluster(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{shared, shared.Kubeconfig(t)}
	err := f.Client().Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "settings"}, &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		f.InstallRelease(t, cluster.ReleaseOptions{BundleID: "guestbook", Namespace: "shop", SetID: "default-guestbook",
			Hash:           setHash,
			AgentNamespace: "cattle-fleet-system",
			Manifest:       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  colour: green\n"})
	} else if err != nil {
		t.Fatal(err)
	}
	return f
}

type result struct {
	status      int
	out, errOut string
}

// text is the whole output with single spaces between words.
func (r result) text() string { return strings.Join(strings.Fields(r.out+r.errOut), " ") }

// call runs a subcommand.
func (f *fixture) call(t *testing.T, args ...string) result {
	t.Helper()
	return f.as(t, f.kubeconfig, args...)
}

func (f *fixture) as(t *testing.T, kubeconfig string, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	status := cmd.Main(t.Context(), slices.Concat([]string{"kubectl-fleetdoctor", "webhook"}, args,
		[]string{"--kubeconfig", kubeconfig}),
		cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
			ErrOut: &errOut}})
	return result{status, out.String(), errOut.String()}
}

// must runs a subcommand that must succeed.
func (f *fixture) must(t *testing.T, args ...string) result {
	t.Helper()
	r := f.call(t, args...)
	if r.status != 0 {
		t.Fatalf("webhook %s: status %d:\n%s%s", strings.Join(args, " "), r.status, r.out, r.errOut)
	}
	return r
}

// installed installs into a namespace, and uninstalls after the test.
func (f *fixture) installed(t *testing.T, namespace string, args ...string) {
	t.Helper()
	t.Cleanup(func() { f.uninstall(t, namespace) })
	f.must(t, append([]string{"install", "-n", namespace}, args...)...)
}

func (f *fixture) get(t *testing.T, o client.Object, namespace, name string) {
	t.Helper()
	if err := f.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) absent(t *testing.T, o client.Object, namespace, name string) {
	t.Helper()
	err := f.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if !apierrors.IsNotFound(err) && o.GetDeletionTimestamp() == nil {
		t.Errorf("%T %s/%s still exists (%v)", o, namespace, name, err)
	}
}

func (f *fixture) patch(t *testing.T, o client.Object, namespace, name, patch string) {
	t.Helper()
	o.SetNamespace(namespace)
	o.SetName(name)
	kind := types.MergePatchType
	if strings.HasPrefix(patch, "[") {
		kind = types.JSONPatchType
	}
	if err := f.Client().Patch(t.Context(), o, client.RawPatch(kind, []byte(patch)),
		client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) mutating(t *testing.T) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	m := &admissionregistrationv1.MutatingWebhookConfiguration{}
	f.get(t, m, "", installation.Name)
	return m
}

// lines counts the lines that end with a text, and all lines.
func lines(text, end string) (with, all int) {
	for line := range strings.Lines(text) {
		all++
		if strings.HasSuffix(strings.TrimSpace(line), end) {
			with++
		}
	}
	return with, all
}

// TestInstall checks that a second installation changes nothing, and reverts only fields of the chart.
func TestInstall(t *testing.T) {
	f := onCluster(t)
	r := f.must(t, "install", "-n", "in", "--dry-run=server")
	if n, all := lines(r.out, "(server dry run)"); n != all || n == 0 {
		t.Errorf("a dry run printed:\n%s", r.out)
	}
	f.absent(t, &corev1.Namespace{}, "", "in")

	f.installed(t, "in")
	namespace := &corev1.Namespace{}
	if f.get(t, namespace, "", "in"); namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("labels of the namespace: %v", namespace.Labels)
	}
	f.patch(t, &corev1.Secret{}, "in", "fleetdoctor-webhook-cert",
		`{"data":{"tls.crt":"aW52ZW50ZWQ=","tls.key":"aW52ZW50ZWQ="}}`)
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"aW52ZW50ZWQ="}]`)
	before := f.mutating(t)
	if r = f.must(t, "install", "-n", "in"); r.errOut != "" {
		t.Errorf("a second installation printed:\n%s", r.errOut)
	}
	if after := f.mutating(t); after.Generation != before.Generation {
		t.Errorf("a second installation changed the configuration:\n%s", cmp.Diff(before.Webhooks, after.Webhooks))
	}
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]`)
	f.must(t, "install", "-n", "in")
	secret := &corev1.Secret{}
	f.get(t, secret, "in", "fleetdoctor-webhook-cert")
	w := f.mutating(t).Webhooks[0]
	if string(secret.Data["tls.key"]) != "invented" || string(w.ClientConfig.CABundle) != "invented" {
		t.Errorf("after the last installation: %d keys in the Secret, caBundle %q", len(secret.Data),
			w.ClientConfig.CABundle)
	}
	if *w.FailurePolicy != admissionregistrationv1.Ignore {
		t.Errorf("failurePolicy %s", *w.FailurePolicy)
	}
	r = f.must(t, "install", "-n", "in", "-o", "yaml")
	if strings.Contains(r.out, "aW52ZW50ZWQ=") || !strings.Contains(r.out, "kind: ValidatingWebhookConfiguration") {
		t.Errorf("-o yaml:\n%s", r.out)
	}
}

// TestInstallOptions checks that an upgrade with other options deletes the objects that only the previous options need.
func TestInstallOptions(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "opt", "--exact", "--release-namespaces=shop,default")
	bindings := func() []string {
		var list rbacv1.RoleBindingList
		if err := f.Client().List(t.Context(), &list,
			client.MatchingLabels{install.NameLabel: installation.Name}); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, b := range list.Items {
			out = append(out, b.Namespace+"/"+b.Name)
		}
		return out
	}
	f.absent(t, &rbacv1.ClusterRoleBinding{}, "", "fleetdoctor-webhook-records")
	want := []string{"default/fleetdoctor-webhook-records", "opt/fleetdoctor-webhook-certificates",
		"opt/fleetdoctor-webhook-seen", "shop/fleetdoctor-webhook-records"}
	if diff := cmp.Diff(want, bindings()); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	// Another field manager owns this caBundle, so an apply without the entry would not remove the entry.
	f.patch(t, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", installation.Name,
		`[{"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":"aW52ZW50ZWQ="}]`)
	f.must(t, "install", "-n", "opt", "--dry-run=server")
	if n := len(f.mutating(t).Webhooks); n != 2 {
		t.Errorf("a dry run left %d webhooks of 2", n)
	}
	kept := "Note: kept exact: true\nNote: kept releaseNamespaces: [\"default\",\"shop\"]\n"
	if r := f.must(t, "install", "-n", "opt"); r.errOut != kept {
		t.Errorf("without options (-want +got):\n%s", cmp.Diff(kept, r.errOut))
	}
	if diff := cmp.Diff(want, bindings()); diff != "" || len(f.mutating(t).Webhooks) != 2 {
		t.Errorf("without options: bindings (-want +got):\n%s", diff)
	}
	r := f.must(t, "install", "-n", "opt", "--reset-values")
	if r.errOut != "" {
		t.Errorf("it printed: %s", r.errOut)
	}
	if n := strings.Count(r.out, "rolebinding.rbac.authorization.k8s.io/fleetdoctor-webhook-records -n "); n != 2 {
		t.Errorf("%d bindings were deleted:\n%s", n, r.out)
	}
	if m := f.mutating(t); len(m.Webhooks) != 1 || m.Webhooks[0].Name != installation.StampWebhook {
		t.Errorf("webhooks without --exact: %v", m.Webhooks)
	}
	f.get(t, &rbacv1.ClusterRoleBinding{}, "", "fleetdoctor-webhook-records")
	if diff := cmp.Diff(want[1:3], bindings()); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	if r := f.call(t, "install", "-n", "opt", "--certificates=cert-manager"); r.status != 3 ||
		!strings.Contains(r.errOut, "not have Certificate.cert-manager.io, Issuer.cert-manager.io\nInstall cert-") {
		t.Errorf("without cert-manager: status %d: %s", r.status, r.errOut)
	}
}

func TestInstallWait(t *testing.T) {
	f := onCluster(t)
	t.Cleanup(func() { f.uninstall(t, "wait") })
	r := f.call(t, "install", "-n", "wait", "--wait", "--timeout=5s")
	if r.status != 3 || !strings.Contains(r.errOut,
		"error: the webhook is installed, but not ready after 5s: resource "+
			"Deployment/wait/fleetdoctor-webhook not ready. status: InProgress, message: Replicas: 0/2") {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
	f.ready(t, "wait", "Y2E=")
	if r := f.must(t, "install", "-n", "wait", "--wait", "--timeout=1m"); r.errOut != "The webhook is ready.\n" {
		t.Errorf("waiting for a ready installation printed: %s", r.errOut)
	}
}

func (f *fixture) uninstall(t *testing.T, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var errOut bytes.Buffer
	args := []string{"kubectl-fleetdoctor", "webhook", "uninstall", "--yes", "-n", namespace, "--kubeconfig",
		f.kubeconfig}
	if s := cmd.Main(ctx, args, cli.Environment{Version: release,
		Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &errOut}}); s != 0 {
		t.Errorf("uninstalling: status %d: %s", s, &errOut)
	}
	if err := f.RemoveNamespace(ctx, namespace); err != nil {
		t.Error(err)
	}
}

// TestUninstall checks which objects are deleted and which are kept, and that uninstall asks for confirmation.
func TestUninstall(t *testing.T) {
	f := onCluster(t)
	f.installed(t, "out", "--release-namespaces=shop")
	if r := f.call(t, "uninstall", "-n", "out"); r.status != 1 || r.out != "" ||
		!strings.Contains(r.errOut, "--yes deletes without asking.") {
		t.Errorf("without --yes, in a pipe: status %d, printed %q: %s", r.status, r.out, r.errOut)
	}
	for _, dryRun := range []string{"client", "server"} {
		f.must(t, "uninstall", "-n", "out", "--dry-run="+dryRun)
	}
	f.mutating(t) // the configuration still exists

	foreign := &corev1.ConfigMap{}
	foreign.Namespace, foreign.Name = "out", "foreign"
	if err := f.Client().Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	r := f.must(t, "uninstall", "-n", "out", "--yes")
	const kept = "Namespace out is kept: others may have objects in it. If nobody needs them:\n  kubectl delete " +
		"namespace out\n"
	if r.errOut != kept {
		t.Errorf("it printed: %s", r.errOut)
	}
	records := &corev1.SecretList{}
	if err := f.Client().List(t.Context(), records, client.InNamespace("out")); err != nil || len(records.Items) > 0 {
		t.Errorf("%d Secrets are left, error %v", len(records.Items), err)
	}
	first := "mutatingwebhookconfiguration.admissionregistration.k8s.io/fleetdoctor-webhook deleted\n" +
		"validatingwebhookconfiguration.admissionregistration.k8s.io/fleetdoctor-webhook deleted\n"
	if !strings.HasPrefix(r.out, first) || !strings.Contains(r.out,
		"rolebinding.rbac.authorization.k8s.io/fleetdoctor-webhook-records -n shop deleted\n") {
		t.Errorf("it deleted:\n%s", r.out)
	}
	f.absent(t, &rbacv1.RoleBinding{}, "shop", "fleetdoctor-webhook-records")
	f.absent(t, &rbacv1.ClusterRole{}, "", "fleetdoctor-webhook-records")
	f.get(t, foreign, "out", "foreign")
	namespace := &corev1.Namespace{}
	if f.get(t, namespace, "", "out"); namespace.DeletionTimestamp != nil {
		t.Error("the namespace is being deleted")
	}
	if r := f.must(t, "uninstall", "-n", "out", "--yes"); r.out != "" ||
		r.errOut != "Nothing to remove: there is no installation in namespace out.\n" {
		t.Errorf("a second time: %s%s", r.out, r.errOut)
	}
	f.must(t, "install", "-n", "out") // into the namespace that was kept
	f.must(t, "uninstall", "-n", "out", "--yes")
	if err := f.Client().Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if r := f.call(t, "install", "-n", "out"); r.status != 3 || !strings.Contains(r.errOut, "being terminated") {
		t.Errorf("into a namespace that is being deleted: status %d: %s", r.status, r.errOut)
	}
}
