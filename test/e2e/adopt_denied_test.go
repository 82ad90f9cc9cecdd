// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWriteForbidden adopts as a user who may write in one namespace only. The other write fails with the server's
// message; the rest is done.
func TestWriteForbidden(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	elsewhere := f.bundle("elsewhere", theme)
	elsewhere.options.Namespace = "elsewhere"
	elsewhere.deploy()
	strays := append(guestbookObjects(), object("v1", "ConfigMap", "elsewhere", "theme"))
	f.removeOwnership(strays...)
	before := f.getAll(strays...)
	writer := f.user("writer", rule("*", "*", "get", "list"), rule("", "configmaps,services", "patch").in(apps))

	const forbidden = "configmap elsewhere/theme"
	a := f.adopt("--yes", "--kubeconfig", writer)
	expectAdoption(t, a, 3, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt NoMark Done",
		frontendKey: "Adopt NoMark Done",
		forbidden:   "Adopt NoMark Failed"})
	expectContains(t, "the message", a.object(t, forbidden).Message, `User "writer" cannot patch resource "configmaps"`,
		`in the namespace "elsewhere"`)
	b.expectOnlyOwnership(b.ownership(), before[:3]...)
	f.expectUnchanged(before[3])
	if _, settled := receiptOutcomes(t, a.receipt); settled["Done"] != 3 || settled["Failed"] != 1 {
		t.Errorf("the outcomes in the receipt: %v", settled)
	}

	undone := f.undo(a.receipt, "--kubeconfig", writer)
	expectAdoption(t, undone, 0, map[string]string{settings: "Restore Done", textsKey: "Restore Done",
		frontendKey: "Restore Done", forbidden: "None"})
	f.expectRestored(before...)

	reader := f.user("only-reader", rule("*", "*", "get", "list"))
	plan := f.adopt("--dry-run=server", "--kubeconfig", reader)
	if plan.status != 3 || plan.document.Summary.Failed != 4 || plan.document.DryRun != "server" {
		t.Errorf("a dry run as reader: status %d, %+v: %s", plan.status, plan.document.Summary, plan.stderr)
	}
}

// TestClusterUnknown adopts as a user who may not read the identity of the cluster. Nothing is written, because
// the receipt could not be undone.
func TestClusterUnknown(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.removeOwnership(guestbookObjects()...)
	before := f.getAll(guestbookObjects()...)
	grants := []grant{ofFleet, ofSecrets, ofObjects, rule("apps", "deployments,statefulsets", "list"),
		rule("", "configmaps,services", "get", "patch")}
	a := f.adopt("--yes", "--kubeconfig", f.user("no-namespaces", grants...))
	if a.status != 3 || a.stdout != "" {
		t.Errorf("status %d, stdout %s", a.status, a.stdout)
	}
	expectContains(t, "stderr", a.stderr, "namespace kube-system: Forbidden", "list on namespaces")
	f.expectUnchanged(before...)
	if _, err := os.Stat(a.receipt); err == nil {
		t.Error("a receipt exists")
	}

	kubeSystem := rule("", "namespaces", "list").named("kube-system")
	a = f.adopt("--yes", "--kubeconfig", f.user("kube-system-alone", append(grants, kubeSystem)...))
	if a.status != 0 || a.document.Summary.Done != 3 {
		t.Errorf("with the permission that the message names: status %d, %+v: %s", a.status, a.document, a.stderr)
	}
}

// uniqueName returns a name that no earlier run has used.
func uniqueName(name string) string { return name + "-" + strings.ToLower(rand.Text()) }

// denyUpdates creates an admission policy that denies updates of objects with the label e2e=NAME. A name is used
// once, because the server keeps a deleted policy for a moment.
func (f *fleetServer) denyUpdates(name, says string) {
	f.t.Helper()
	const group = "admissionregistration.k8s.io/v1"
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		f.removeAtEnd(object(group, kind, "", name))
	}
	f.ApplyYAML(f.t, "admin", `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+name+`}
spec:
  failurePolicy: Fail
  matchConstraints:
    objectSelector: {matchLabels: {e2e: `+name+`}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps, secrets]}]
  validations:
  - expression: "false"
    messageExpression: |
      `+says+`
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+name+`}
spec: {policyName: `+name+`, validationActions: [Deny]}
`)
}

// awaitDenied returns when the server denies updates of the object; it starts to enforce a policy a moment after
// it is stored.
func (f *fleetServer) awaitDenied(name string, obj *unstructured.Unstructured) {
	f.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"e2e":"try"}}}`))
	poll.Until(f.t, func() error {
		err := f.Client().Patch(f.t.Context(), obj.DeepCopy(), patch, client.DryRunAll)
		if err == nil {
			return errors.New("the policy does not deny updates yet")
		}
		if !strings.Contains(err.Error(), name) {
			return err
		}
		return nil
	})
}

// encoded returns a value in base64, without padding, so that it is also found within a longer text.
func encoded(value string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(value))[:len(value)]
}

// TestDeniedByAdmissionPolicy has an admission policy deny one of the writes. The object reports the message of
// the policy; the rest is done. A server-side dry run reports the same and changes nothing.
func TestDeniedByAdmissionPolicy(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.removeOwnership(guestbookObjects()...)
	team := uniqueName("platform-team")
	f.merge("kubectl", configMap("settings"), `{"metadata":{"labels":{"e2e":"`+team+`"}}}`)
	f.denyUpdates(team, `"the platform team keeps " + object.metadata.name`)
	f.awaitDenied(team, configMap("settings"))
	before := f.getAll(guestbookObjects()...)

	want := map[string]string{settings: "Adopt NoMark Failed", textsKey: "Adopt NoMark Done",
		frontendKey: "Adopt NoMark Done"}
	dry := f.adopt("--dry-run=server")
	expectAdoption(t, dry, 3, want)
	expectContains(t, "the message of the dry run", dry.object(t, settings).Message, "the platform team keeps settings")
	f.expectUnchanged(before...)
	if _, err := os.Stat(dry.receipt); err == nil {
		t.Error("a dry run wrote a receipt")
	}

	a := f.adopt("--yes")
	expectAdoption(t, a, 3, want)
	expectContains(t, "the message", a.object(t, settings).Message, "the platform team keeps settings", "platform-team")
	f.expectUnchanged(before[0])
	b.expectOnlyOwnership(b.ownership(), before[1:]...)
	if u := f.undo(a.receipt); u.status != 0 || u.document.Summary.Unchanged != 1 {
		t.Errorf("undoing: status %d, %+v", u.status, u.document.Summary)
	}
	f.expectRestored(before...)
}

// TestWriteChanged has the writes lose the hash before they are stored, as a mutating admission policy can do. Each
// object is a failure that names the key, and an undo restores the other keys.
func TestWriteChanged(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.removeOwnership(guestbookObjects()...)
	before := f.getAll(guestbookObjects()...)
	p := f.proxy()
	p.onRequest(func(r *http.Request) {
		if r.Method != http.MethodPatch {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading a request: %v", err)
		}
		body = regexp.MustCompile(`"`+fleet.HashLabel+`":"[0-9a-f]+",?`).ReplaceAll(body, nil)
		body = bytes.ReplaceAll(body, []byte(`,}`), []byte(`}`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	})
	a := f.adopt("--yes", "--kubeconfig", p.kubeconfig)
	expectAdoption(t, a, 3, map[string]string{settings: "Adopt NoMark Failed", textsKey: "Adopt NoMark Failed",
		frontendKey: "Adopt NoMark Failed"})
	expectContains(t, "the message", a.object(t, settings).Message,
		"did not keep it: label "+fleet.HashLabel+" is gone")
	undone := f.undo(a.receipt)
	expectAdoption(t, undone, 0, map[string]string{settings: "Restore Done", textsKey: "Restore Done",
		frontendKey: "Restore Done"})
	f.expectRestored(before...)
}

// Invented values of a Secret.
const (
	inventedLive    = "invented-live-passphrase"
	inventedDesired = "invented-desired-passphrase"
)

// TestNoSecretIsShown adopts a Secret that differs from the manifest, has a last-applied annotation with its
// values, and is quoted by an admission policy. No output, message or receipt contains a value.
func TestNoSecretIsShown(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", `
{apiVersion: v1, kind: Secret, metadata: {name: credentials}, stringData: {password: `+inventedDesired+`}}
---
{apiVersion: v1, kind: Secret, metadata: {name: more}, stringData: {password: `+inventedDesired+`}}
`)
	credentials, more := object("v1", "Secret", apps, "credentials"), object("v1", "Secret", apps, "more")
	f.removeOwnership(credentials, more)
	const lastApplied = `{"kind":"Secret","apiVersion":"v1","stringData":{"password":"` + inventedLive + `"}}`
	const patch = `{"stringData":{"password":%q},
		"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}}}`
	f.merge("kubectl", credentials, fmt.Sprintf(patch, inventedLive, lastApplied))
	quoting := uniqueName("quoting")
	f.merge("kubectl", more, fmt.Sprintf(`{"metadata":{"labels":{"e2e":%q}},"stringData":{"password":%q}}`,
		quoting, inventedLive))
	f.denyUpdates(quoting, `"not this one, with " + string(object.data.password)`)
	f.awaitDenied(quoting, more)

	var shown strings.Builder
	for _, args := range [][]string{{"table"}, {"wide", "--diff"}, {"json"}, {"yaml", "--diff"}, {"name"},
		{"wide", "--dry-run=server"},
		{"json", "--dry-run=server"}} {
		r := run(t.Context(), t, append([]string{"adopt", "--kubeconfig", f.kubeconfig, "-o"}, args...)...)
		shown.WriteString(r.stdout + r.stderr)
	}
	a := f.adopt("--yes")
	if a.status != 3 || a.document.Summary.Done != 1 || a.document.Summary.Failed != 1 {
		t.Errorf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	shown.WriteString(a.stdout + a.stderr)
	expectContains(t, "the output", shown.String(), "***", "not this one, with")
	plan := run(t.Context(), t, "adopt", "--kubeconfig", f.kubeconfig, "--undo", a.receipt, "-o", "wide")
	undone := f.undo(a.receipt)
	shown.WriteString(plan.stdout + plan.stderr + undone.stdout + undone.stderr)
	receipt, err := os.ReadFile(a.receipt)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the output": shown.String(), "the receipt": string(receipt)} {
		for _, value := range []string{inventedLive, inventedDesired} {
			for _, form := range []string{value, encoded(value)} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s contains a value of a Secret: %s", where, text[max(0, i-200):i+len(form)])
				}
			}
		}
	}
}
