// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/auditor"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// release is the version of the program: a development build installs nothing without --image.
const release = "v0.1.0"

// shared is a real API server without controllers: no pod starts, and a deleted namespace exists until its test ends.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Run(m, &shared, cluster.WithFleetCRDs(),
		cluster.WithCRDs("../../../test/manifests/testdata/prometheus-operator.yaml")))
}

type result struct {
	status      int
	out, errOut string
}

// run runs a subcommand with the rights of a kubeconfig.
func run(ctx context.Context, kubeconfig string, args ...string) result {
	var out, errOut bytes.Buffer
	status := cmd.Main(ctx, slices.Concat([]string{"kubectl-fleetdoctor", "auditor"}, args,
		[]string{"--kubeconfig", kubeconfig}),
		cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
			ErrOut: &errOut}})
	return result{status, out.String(), errOut.String()}
}

// must runs a subcommand that must succeed, as the administrator.
func must(t *testing.T, args ...string) result {
	t.Helper()
	r := run(t.Context(), shared.Kubeconfig(t), args...)
	if r.status != 0 {
		t.Fatalf("auditor %s: status %d:\n%s%s", strings.Join(args, " "), r.status, r.out, r.errOut)
	}
	return r
}

// installed installs into a namespace, and removes everything after the test.
func installed(t *testing.T, namespace string, args ...string) result {
	t.Helper()
	kubeconfig := shared.Kubeconfig(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		r := run(ctx, kubeconfig, "uninstall", "--yes", "--deployed-by-fleet", "-n", namespace)
		if r.status != 0 {
			t.Errorf("uninstalling: status %d: %s", r.status, r.errOut)
		}
		if err := shared.RemoveNamespace(ctx, namespace); err != nil {
			t.Error(err)
		}
	})
	return must(t, append([]string{"install", "-n", namespace}, args...)...)
}

// objects returns the resourceVersions of the objects of the auditor, by kind and name.
func objects(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, kind := range auditor.Chart.Kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		byLabel := client.MatchingLabels{install.NameLabel: auditor.Name}
		if err := shared.Client().List(t.Context(), list, byLabel); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out[kind.Kind+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	return out
}

// all are the objects of an installation with all options.
var all = []string{"ClusterRole fleetdoctor-auditor", "ClusterRoleBinding fleetdoctor-auditor",
	"ConfigMap fleetdoctor-auditor-dashboards", "Deployment fleetdoctor-auditor", "NetworkPolicy fleetdoctor-auditor",
	"PodDisruptionBudget fleetdoctor-auditor", "PodMonitor fleetdoctor-auditor", "PrometheusRule fleetdoctor-auditor",
	"Role fleetdoctor-auditor", "RoleBinding fleetdoctor-auditor", "ServiceAccount fleetdoctor-auditor"}

// TestInstall checks that a second installation changes nothing, and that an upgrade says what it changes.
func TestInstall(t *testing.T) {
	r := must(t, "install", "-n", "in", "--dry-run=server")
	if n := strings.Count(r.out, " (server dry run)\n"); n != strings.Count(r.out, "\n") || len(objects(t)) > 0 {
		t.Errorf("a dry run printed:\n%s", r.out)
	}
	installed(t, "in", "--cluster-name=fleet-default/edge-1", "--journal=false")
	before := objects(t)
	if r := must(t, "install", "-n", "in", "--cluster-name=fleet-default/edge-1", "--journal=false"); r.errOut != "" {
		t.Errorf("a second installation printed: %s", r.errOut)
	}
	if diff := cmp.Diff(before, objects(t)); diff != "" {
		t.Errorf("a second installation changed (-before +after):\n%s", diff)
	}
	role := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(role, []byte("kind: ClusterRole\nrules:\n- {apiGroups: [apps], resources: [deployments]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r = must(t, "install", "-n", "in", "--read-rules", role, "--replicas=1")
	want := `Note: kept clusterName: "fleet-default/edge-1"` + "\nNote: kept journal: false\n"
	if diff := cmp.Diff(want, r.errOut); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if r := run(t.Context(), shared.Kubeconfig(t), "install", "-n", "other"); r.status != 3 ||
		!strings.Contains(r.errOut, "the auditor is installed in namespace in, not in other") {
		t.Errorf("into another namespace: status %d: %s", r.status, r.errOut)
	}
}

// TestInstallWait checks the error if the replicas do not become ready in time.
func TestInstallWait(t *testing.T) {
	installed(t, "wait")
	r := run(t.Context(), shared.Kubeconfig(t), "install", "-n", "wait", "--wait", "--timeout=3s")
	if r.status != 3 || !strings.Contains(r.errOut, "the auditor is installed, but not ready after 3s") ||
		!strings.Contains(r.errOut, "auditor status") {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
}

// monitored sets the values for all objects of the chart.
const monitored = "--set=podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"

// TestUninstall checks what is deleted and kept, and that uninstall asks for confirmation.
func TestUninstall(t *testing.T) {
	installed(t, "out", monitored)
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(objects(t)))); diff != "" {
		t.Fatalf("objects (-want +got):\n%s", diff)
	}
	journal := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "out", Name: "journal",
		Labels: map[string]string{install.NameLabel: auditor.Name}}}
	if err := shared.Client().Create(t.Context(), journal); err != nil {
		t.Fatal(err)
	}
	if r := run(t.Context(), shared.Kubeconfig(t), "uninstall"); r.status != 1 ||
		!strings.Contains(r.errOut, "--yes deletes without asking.") {
		t.Errorf("without --yes: status %d: %s", r.status, r.errOut)
	}
	r := must(t, "uninstall", "--yes")
	if strings.Count(r.out, " deleted\n") != len(all) || !strings.Contains(r.errOut, "it has the auditor's journal") {
		t.Errorf("it printed:\n%s%s", r.out, r.errOut)
	}
	if diff := cmp.Diff([]string{"ConfigMap journal"}, slices.Sorted(maps.Keys(objects(t)))); diff != "" {
		t.Errorf("objects afterwards (-want +got):\n%s", diff)
	}
	if r := must(t, "uninstall", "--yes"); !strings.HasPrefix(r.errOut, "Nothing to remove") {
		t.Errorf("a second time: %s%s", r.out, r.errOut)
	}
}

// helmUninstall uninstalls the release as helm does.
func helmUninstall(t *testing.T, namespace string) {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = ptr.To(shared.Kubeconfig(t)), &namespace
	configuration := action.NewConfiguration()
	if err := configuration.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(auditor.Name); err != nil {
		t.Fatal(err)
	}
}

// TestKeep checks that all objects outlive the release, that an installation takes them over, that an upgrade deletes
// those that the options no longer need, and that uninstall deletes all of them.
func TestKeep(t *testing.T) {
	options := []string{"install", "-n", "kept", "--keep", monitored}
	installed(t, "kept", options[3:]...)
	helmUninstall(t, "kept")
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(objects(t)))); diff != "" {
		t.Errorf("after helm uninstall (-want +got):\n%s", diff)
	}
	if s, _ := status(t, shared.Kubeconfig(t), "kept"); states(s)["release"] != install.Note || s.HelmRelease != "" {
		t.Errorf("after helm uninstall: %+v", s.Checks)
	}
	if r := run(t.Context(), shared.Kubeconfig(t), options...); r.status != 3 ||
		!strings.Contains(r.errOut, "exist without their Helm release, so their options are not known") {
		t.Errorf("without the release: status %d: %s", r.status, r.errOut)
	}
	must(t, append(options, "--reset-values")...)
	r := must(t, "install", "-n", "kept", "--keep", "--reset-values")
	if got := objects(t); len(got) != len(all)-3 || strings.Count(r.out, " deleted\n") != 3 {
		t.Errorf("an upgrade with defaults left %v:\n%s", slices.Sorted(maps.Keys(got)), r.out)
	}
	must(t, options...)
	helmUninstall(t, "kept")
	if r := must(t, "uninstall", "--yes"); strings.Count(r.out, " deleted\n") != len(all) || len(objects(t)) > 0 {
		t.Errorf("without a release, it deleted:\n%s", r.out)
	}
	must(t, options...)
	if r := must(t, "uninstall", "--yes"); strings.Count(r.out, " deleted\n") != len(all) || len(objects(t)) > 0 {
		t.Errorf("with a release, it deleted:\n%s", r.out)
	}
}

// TestDeployedByFleet checks that an installation by Fleet is changed only on request.
func TestDeployedByFleet(t *testing.T) {
	installed(t, "fleeted", "--keep")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "fleeted", Name: auditor.Name}}
	if err := shared.Client().Patch(t.Context(), d, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"objectset.rio.cattle.io/hash":"0a"}}}`))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"install"}, {"uninstall", "--yes"}} {
		r := run(t.Context(), shared.Kubeconfig(t), args...)
		if r.status != 3 || !strings.Contains(r.errOut, "deployed by Fleet (release fleeted/fleetdoctor-auditor)") ||
			!strings.Contains(r.errOut, "auditor uninstall --deployed-by-fleet") {
			t.Errorf("%v: status %d: %s", args, r.status, r.errOut)
		}
	}
	if s, _ := status(t, shared.Kubeconfig(t), "fleeted"); s.Release != "fleeted/fleetdoctor-auditor" {
		t.Errorf("status has the release %q", s.Release)
	}
	must(t, "uninstall", "--yes", "--deployed-by-fleet")
	if len(objects(t)) > 0 {
		t.Errorf("these objects are left: %v", objects(t))
	}
}

// asAuditor returns a configuration with the rights of the account of an auditor in a namespace.
func asAuditor(namespace string) *rest.Config {
	config := shared.Config()
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + auditor.Name
	config.Impersonate.Groups = []string{"system:authenticated", "system:serviceaccounts",
		"system:serviceaccounts:" + namespace}
	return config
}

// TestRights checks with real requests that the account of the auditor can list and watch, also a kind that no bundle
// deployed before, and can write nothing but what its roles name.
func TestRights(t *testing.T) {
	installed(t, "rights")
	config := asAuditor("rights")
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	monitors := &unstructured.UnstructuredList{}
	monitors.SetAPIVersion("monitoring.coreos.com/v1")
	monitors.SetKind("PodMonitorList")
	lists := []client.ObjectList{&corev1.SecretList{}, &appsv1.DeploymentList{}, &rbacv1.ClusterRoleList{}, monitors}
	poll.Until(t, func() error { return c.List(t.Context(), lists[0]) }) // the server enforces roles after a moment
	for _, list := range lists {
		if err := c.List(t.Context(), list); err != nil {
			t.Errorf("listing: %v", err)
		}
		w, err := c.Watch(t.Context(), list)
		if err != nil {
			t.Errorf("watching: %v", err)
			continue
		}
		w.Stop()
	}
	meta := metav1.ObjectMeta{Namespace: "rights", Name: "x"}
	account := metav1.ObjectMeta{Namespace: "rights", Name: auditor.Name}
	for _, o := range []client.Object{&corev1.Secret{ObjectMeta: meta}, &corev1.Pod{ObjectMeta: meta},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}} {
		if err := c.Create(t.Context(), o); !apierrors.IsForbidden(err) {
			t.Errorf("creating %T: %v", o, err)
		}
	}
	for _, o := range []client.Object{&appsv1.Deployment{ObjectMeta: account}, &rbacv1.Role{ObjectMeta: account},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: auditor.Name}}} {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		if err := c.Patch(t.Context(), o, patch); !apierrors.IsForbidden(err) {
			t.Errorf("patching %T: %v", o, err)
		}
		if err := c.Delete(t.Context(), o); !apierrors.IsForbidden(err) {
			t.Errorf("deleting %T: %v", o, err)
		}
	}
	lease := &coordinationv1.Lease{ObjectMeta: account}
	for _, o := range []client.Object{&corev1.ConfigMap{ObjectMeta: meta}, lease,
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"},
			InvolvedObject: corev1.ObjectReference{Namespace: "default"}}} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Errorf("creating %T: %v", o, err)
		}
	}
	if err := c.Update(t.Context(), lease); err != nil {
		t.Errorf("updating the lease: %v", err)
	}
}

// TestRightsOfAudit checks that an audit with the account of the auditor can read everything.
func TestRightsOfAudit(t *testing.T) {
	shared.InstallRelease(t, cluster.ReleaseOptions{BundleID: "guestbook", Namespace: "shop",
		SetID: "default-guestbook", Hash: "c5c68538ff9800def965853a87784a250ad1f566",
		AgentNamespace: "cattle-fleet-system",
		Manifest:       "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports: [{port: 80}]\n"})
	gaps := func(as ...string) string {
		r := audit(t, append(as, "-o", "json")...)
		var report struct {
			Gaps []struct{ Message string } `json:"gaps"`
		}
		if err := json.Unmarshal([]byte(r.out), &report); err != nil {
			return fmt.Sprintf("status %d: %v: %s", r.status, err, r.errOut)
		}
		return fmt.Sprint(report.Gaps)
	}
	installed(t, "audits")
	want := gaps()
	poll.Until(t, func() error { // the server enforces roles after a moment
		got := gaps("--as=system:serviceaccount:audits:"+auditor.Name, "--as-group=system:authenticated")
		if got != want {
			return fmt.Errorf("gaps %s, and those of the administrator: %s", got, want)
		}
		return nil
	})
}

// audit runs an audit.
func audit(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut bytes.Buffer
	status := cmd.Main(t.Context(), slices.Concat([]string{"kubectl-fleetdoctor", "audit"}, args,
		[]string{"--kubeconfig", shared.Kubeconfig(t)}),
		cli.Environment{Version: release, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
			ErrOut: &errOut}})
	return result{status, out.String(), errOut.String()}
}
