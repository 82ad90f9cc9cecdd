// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// directory is a bundle named "guestbook" that is not deployed yet.
func directory(t *testing.T, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"fleet.yaml": "name: guestbook\ndefaultNamespace: " + apps + "\n",
		"all.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// preflight predicts a rollout and returns the exit status and the result of the only bundle.
func (f *fleetServer) preflight(args ...string) (int, report.Rollout) {
	f.t.Helper()
	r := run(f.t.Context(), f.t, append([]string{"preflight", "--kubeconfig", f.kubeconfig, "-o", "json"}, args...)...)
	document := &report.Preflight{}
	if err := json.Unmarshal([]byte(r.stdout), document); err != nil || len(document.BundleDeployments) != 1 {
		f.t.Fatalf("the output of preflight is not a report of one bundle: %v\n%s%s", err, r.stdout, r.stderr)
	}
	return r.status, document.BundleDeployments[0]
}

// expectRollout compares the prediction: the verdict, and each item by its rule and object.
func expectRollout(t *testing.T, status int, r report.Rollout, wantStatus int, verdict report.Verdict, want ...string) {
	t.Helper()
	if status != wantStatus || r.Verdict != verdict {
		t.Errorf("status %d, verdict %s, want %d, %s", status, r.Verdict, wantStatus, verdict)
	}
	var got []string
	for _, item := range r.Items {
		line := item.Rule
		if item.Object != nil {
			line += " " + item.Object.Key().String()
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s\n%+v", diff, r.Items)
	}
}

const (
	threeDesired = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: texts}
data: {hello: world}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: absent}
`
	twoExisting = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}, data: {colour: blue}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: texts, namespace: apps}, data: {hello: world}}
`
)

// TestPreflightAndHelm compares the prediction with Helm: Helm refuses these objects, and installs after they are
// adopted.
func TestPreflightAndHelm(t *testing.T) {
	f := newFleet(t, shared)
	dir := directory(t, threeDesired)
	f.ApplyYAML(t, "kubectl", twoExisting)
	b := f.bundle("guestbook", threeDesired)
	before := f.getAll(configMap("settings"), configMap("texts"))

	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "InvalidOwnership configmap apps/settings",
		"InvalidOwnership configmap apps/texts")
	if r.Action != report.RolloutInstall || r.Release != "apps/guestbook" || r.Counts.Create != 1 ||
		r.Counts.TakeOver != 2 {
		t.Errorf("rollout %+v", r)
	}
	expectContains(t, "the remediation", r.Items[1].Remediation, "adopt --kubeconfig "+f.kubeconfig+" -f "+dir)
	_, err := f.Install(t.Context(), b.options)
	if err == nil || !strings.Contains(err.Error(), "invalid ownership metadata") {
		t.Fatalf("Helm does not refuse the installation as predicted: %v", err)
	}
	f.expectUnchanged(before...)

	a := f.adopt("-f", dir, "--yes")
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt NoMark Done",
		"configmap apps/texts": "Adopt NoMark Done"})
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK)
	b.deploy()
	if got := f.audit("--server-check", "never"); got.status != 0 {
		t.Errorf("after the installation: status %d\n%s", got.status, got.stdout)
	}
}

// TestPreflightConflict checks that Helm fails because of another field manager exactly if that was predicted.
func TestPreflightConflict(t *testing.T) {
	f := newFleet(t, shared)
	dir := directory(t, threeDesired)
	f.ApplyYAML(t, "kubectl", strings.Replace(twoExisting, "blue", "green", 1))
	expectAdoption(t, f.adopt("-f", dir, "--yes"), 0, map[string]string{settings: "Adopt NoMark Done",
		"configmap apps/texts": "Adopt NoMark Done"})
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	expectContains(t, "the message", r.Items[0].Message, `conflict with "kubectl"`)
	status, r = f.preflight("-f", dir, "--server-check=never")
	expectRollout(t, status, r, 1, report.VerdictRefused, "ApplyConflict configmap apps/settings")
	b := f.bundle("guestbook", threeDesired)
	if _, err := f.Install(t.Context(), b.options); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("Helm does not fail as predicted: %v", err)
	}
	f.remove(b.record(1)) // with it, the next deploy would be an upgrade
	fleetYAML := "name: guestbook\ndefaultNamespace: " + apps + "\nhelm: {takeOwnership: true}\n"
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(fleetYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK, "Overwritten configmap apps/settings")
	b.options.TakeOwnership = true
	b.deploy()
	if got := f.get(configMap("settings")).Object["data"]; !cmp.Equal(got, map[string]any{"colour": "blue"}) {
		t.Errorf("the data that the prediction overwrites is %v", got)
	}
}

// TestPreflightConflictOnUpgrade checks the same for an upgrade of a release with server-side apply.
func TestPreflightConflictOnUpgrade(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", threeDesired)
	f.merge("somebody", configMap("settings"), `{"data":{"colour":"green"}}`)
	dir := directory(t, threeDesired)
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	if _, err := f.Upgrade(t.Context(), b.options); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("Helm does not fail as predicted: %v", err)
	}
}

// TestPreflightUpgrade checks that an upgrade takes over, overwrites and deletes what was predicted.
func TestPreflightUpgrade(t *testing.T) {
	f := newFleet(t, shared)
	b := f.bundle("guestbook", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: "+
		"red}}\n---\n"+
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: dropped}}\n")
	b.options.ClientSideApply = true
	b.deploy()
	f.ApplyYAML(t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: texts, namespace: apps}, data: "+
		"{hello: world}}")
	dir := directory(t, threeDesired)
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK, "Deleted configmap apps/dropped",
		"TakenOver configmap apps/texts", "Changed configmap apps/settings")
	b.upgrade(threeDesired)
	got := f.audit("--server-check", "never")
	if got.status != 0 {
		t.Errorf("after the upgrade: status %d\n%s", got.status, got.stdout)
	}
	dropped := configMap("dropped")
	if err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(dropped), dropped); !apierrors.IsNotFound(err) {
		t.Errorf("the object that the prediction deletes: error %v", err)
	}
}

// TestPreflightInUse checks that a release name in use is found, and that without the right to list releases the
// verdict is Unknown.
func TestPreflightInUse(t *testing.T) {
	f := newFleet(t, shared)
	f.InstallRelease(t, cluster.ReleaseOptions{Name: "guestbook", Namespace: apps,
		Manifest: "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}"})
	dir := directory(t, threeDesired)
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictContested, "ReleaseInUse", "Deleted configmap apps/theirs")
	expectContains(t, "the message", r.Items[0].Message, "is not a release of Fleet")

	blind := *f
	blind.kubeconfig = f.user("blind", rule("fleet.cattle.io",
		"bundledeployments,bundles,gitrepos,helmops,clusters,clustergroups", "list"), rule("", "configmaps", "list"))
	status, r = blind.preflight("-f", dir)
	expectRollout(t, status, r, 3, report.VerdictUnknown, "RecordsUnread", "NotAsked")
}

// TestPreflightServer checks that the API server refuses in a dry run what it refuses to Helm, and accepts what it
// accepts, and that nothing is stored.
func TestPreflightServer(t *testing.T) {
	f := newFleet(t, shared)
	const frozen = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
immutable: true
data: {colour: blue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: texts}
data: {hello: world}
`
	f.deploy("guestbook", frozen)
	dir := directory(t, strings.Replace(frozen, "blue", "green", 1))
	before := f.getAll(configMap("settings"), configMap("texts"))
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	expectContains(t, "the message", r.Items[0].Message, "field is immutable when `immutable` is set")
	expectContains(t, "the remediation", r.Items[0].Remediation, "-n apps delete configmap/settings")

	dir = directory(t, strings.Replace(frozen, "world", "{}", 1))
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/texts")

	dir = directory(t, strings.Replace(frozen, "world", "all", 1))
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK, "Changed configmap apps/texts")
	reader := f.user("reader", rule("*", "*", "get", "list"))
	status, r = f.preflight("-f", dir, "--kubeconfig", reader)
	expectRollout(t, status, r, 0, report.VerdictOK, "Changed configmap apps/texts", "NotAsked")
	expectContains(t, "the message", r.Items[1].Message, "was not asked about 1 object: you may not patch configmaps")
	f.expectUnchanged(before...)

	const gadget = "\n---\napiVersion: gadgets.example.com/v1\nkind: Gadget\nmetadata: {name: one}\n"
	status, r = f.preflight("-f", directory(t, frozen+gadget))
	expectRollout(t, status, r, 1, report.VerdictRefused, "KindNotServed gadget.gadgets.example.com apps/one")
}

// TestPreflightClientSide checks that an agent whose Helm does not apply server-side is not refused what only a
// server-side apply refuses, and that a wrong type is refused.
func TestPreflightClientSide(t *testing.T) {
	f := newFleet(t, shared)
	const twice = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: twice}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: c, image: x, env: [{name: A, value: "1"}, {name: A, value: "2"}]}
`
	dir := directory(t, twice)
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses deployment apps/twice")
	f.merge(controller, object("apps/v1", "Deployment", agentNamespace, "fleet-agent"),
		`{"spec":{"template":{"spec":{"containers":[{"name":"fleet-agent","image":"rancher/fleet-agent:v0.13.15"}]}}}}`)
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 0, report.VerdictOK, "ServerWarns deployment apps/twice")
	status, r = f.preflight("-f", directory(t, strings.Replace(twice, `"1"`, "true", 1)))
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses deployment apps/twice")
}

// TestPreflightChangedOnly checks that the API server is asked about a manifest that differs from the deployed one only
// in a field that its kind does not have.
func TestPreflightChangedOnly(t *testing.T) {
	f := newFleet(t, shared)
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n"
	f.deploy("guestbook", manifest)
	status, r := f.preflight("-f", directory(t, manifest+"colour: blue\n"))
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
}

// TestPreflightRecordNotServed checks that Helm refuses an upgrade of a release with an object of a kind that is not
// served any more, and that this is predicted.
func TestPreflightRecordNotServed(t *testing.T) {
	f := newFleet(t, shared)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "relics.preflight.example.com"},
		"spec": map[string]any{"group": "preflight.example.com", "scope": "Namespaced",
			"names": map[string]any{"kind": "Relic", "plural": "relics"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}},
	}}
	f.Apply(t, "test", definition)
	const kept = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
	b := f.deploy("guestbook", kept+"---\napiVersion: preflight.example.com/v1\nkind: Relic\nmetadata: {name: old}\n")
	if err := f.Client().Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	dir := directory(t, kept)
	var status int
	var r report.Rollout
	poll.True(t, "the kind is not served", func() bool {
		status, r = f.preflight("-f", dir)
		return r.Verdict != report.VerdictOK
	})
	expectRollout(t, status, r, 1, report.VerdictRefused, "KindNotServed relic.preflight.example.com apps/old",
		"Deleted relic.preflight.example.com apps/old")
	const words = "unable to build kubernetes objects from current release manifest"
	expectContains(t, "the message", r.Items[0].Message, words)
	b.options.Manifest = kept
	if _, err := f.Upgrade(t.Context(), b.options); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("Helm does not fail as predicted: %v", err)
	}
}

// TestPreflightServiceAccount checks that the ServiceAccount of a bundle must exist, and that its rights count, not
// those of the user: by impersonation, or by access reviews.
func TestPreflightServiceAccount(t *testing.T) {
	f := newFleet(t, shared)
	dir := directory(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	fleetYAML := "name: guestbook\ndefaultNamespace: " + apps + "\nserviceAccount: deployer\n"
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(fleetYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	status, r := f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "NoServiceAccount")
	expectContains(t, "the message", r.Items[0].Message, "looking up service account "+agentNamespace+
		`/deployer: ServiceAccount "deployer" not found`)

	f.ApplyYAML(t, "test", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer, namespace: "+
		agentNamespace+"}}")
	const user = "system:serviceaccount:" + agentNamespace + ":deployer"
	status, r = f.preflight("-f", dir)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	expectContains(t, "the message", r.Items[0].Message, `User "`+user+`" cannot patch resource "configmaps"`)
	expectContains(t, "the remediation", r.Items[0].Remediation, "give that ServiceAccount the right")
	reviewer := f.user("reviewer", rule("*", "*", "get", "list", "patch"), rule("", "configmaps", "create"),
		rule("authorization.k8s.io", "subjectaccessreviews", "create"))
	status, r = f.preflight("-f", dir, "--kubeconfig", reviewer)
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	expectContains(t, "the message", r.Items[0].Message, `User "`+user+`" cannot patch configmaps`)
	reader := f.user("account-reader", rule("*", "*", "get", "list"))
	status, r = f.preflight("-f", dir, "--kubeconfig", reader)
	expectRollout(t, status, r, 0, report.VerdictOK, "NotAsked")

	f.Grant(t, user, apps, rule("", "configmaps", "patch", "create").rule())
	for _, kubeconfig := range []string{f.kubeconfig, reviewer} {
		status, r = f.preflight("-f", dir, "--kubeconfig", kubeconfig)
		expectRollout(t, status, r, 0, report.VerdictOK)
	}
}

// TestPreflightServerWarns checks that the warnings of the API server are reported.
func TestPreflightServerWarns(t *testing.T) {
	f := newFleet(t, shared)
	status, r := f.preflight("-f", directory(t, "apiVersion: v1\nkind: Endpoints\nmetadata: {name: old}\n"))
	expectRollout(t, status, r, 0, report.VerdictOK, "ServerWarns endpoints apps/old")
	expectContains(t, "the message", r.Items[0].Message, "accepts it with a warning: v1 Endpoints is deprecated")
}

// TestPreflightWebhook checks that a webhook which cannot be called is a refusal, because the agent gets the same.
func TestPreflightWebhook(t *testing.T) {
	f := newFleet(t, shared)
	f.ApplyYAML(t, "test", `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: preflight}
webhooks:
- name: check.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: apps, name: missing}}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: apps}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]
`)
	t.Cleanup(func() {
		hook := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		hook.Name = "preflight"
		if err := f.Client().Delete(context.WithoutCancel(t.Context()), hook); err != nil {
			t.Error(err)
		}
	})
	dir := directory(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	var status int
	var r report.Rollout
	poll.True(t, "the server knows the webhook", func() bool {
		status, r = f.preflight("-f", dir)
		return r.Verdict != report.VerdictOK
	})
	expectRollout(t, status, r, 1, report.VerdictRefused, "ServerRefuses configmap apps/settings")
	if want := `the API server refuses it: failed calling webhook "check.example.com"`; !strings.HasSuffix(
		r.Items[0].Message, want) {
		t.Errorf("the message is %q, without %q at its end", r.Items[0].Message, want)
	}
}
