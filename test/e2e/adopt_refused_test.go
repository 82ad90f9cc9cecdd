// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestForbiddenOnSome has somebody adopt who may write in one namespace only. What he may not write fails with the server's words, the rest
// is done.
func TestForbiddenOnSome(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	elsewhere := f.bundle("elsewhere", theme)
	elsewhere.options.Namespace = "elsewhere"
	elsewhere.deploy()
	strays := append(parts(), object("v1", "ConfigMap", "elsewhere", "theme"))
	f.strip(strays...)
	before := f.getAll(strays...)
	writer := f.user("writer", rule("*", "*", "get", "list"), rule("", "configmaps,services", "patch").in(apps))

	const forbidden = "configmap elsewhere/theme"
	a := f.adopt("--yes", "--kubeconfig", writer)
	expectAdoption(t, a, 3, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt NoMark Done", frontendKey: "Adopt NoMark Done",
		forbidden: "Adopt NoMark Failed"})
	says(t, "what is said of it", a.object(t, forbidden).Message, `User "writer" cannot patch resource "configmaps"`, `in the namespace "elsewhere"`)
	b.onlyMarks(b.stamps(), before[:3]...)
	f.unchanged(before[3])
	if _, settled := outcomes(t, a.receipt); settled["Done"] != 3 || settled["Failed"] != 1 {
		t.Errorf("the receipt: %v", settled)
	}

	undone := f.undo(a.receipt, "--kubeconfig", writer)
	expectAdoption(t, undone, 0, map[string]string{settings: "Restore Done", textsKey: "Restore Done", frontendKey: "Restore Done", forbidden: "None"})
	f.restored(before...)

	reader := f.user("only-reader", rule("*", "*", "get", "list"))
	plan := f.adopt("--dry-run", "server", "--kubeconfig", reader)
	if plan.status != 3 || plan.document.Summary.Failed != 4 || plan.document.DryRun != "server" {
		t.Errorf("a dry run as reader: status %d, %+v: %s", plan.status, plan.document.Summary, plan.stderr)
	}
}

// TestClusterUnknown has somebody adopt who may not read which cluster this is. Nothing is written, because the receipt could not be undone.
func TestClusterUnknown(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	f.strip(parts()...)
	before := f.getAll(parts()...)
	grants := []grant{ofFleet, ofSecrets, ofObjects, rule("apps", "deployments,statefulsets", "list"), rule("", "configmaps,services", "get", "patch")}
	a := f.adopt("--yes", "--kubeconfig", f.user("no-namespaces", grants...))
	if a.status != 3 || a.stdout != "" {
		t.Errorf("status %d, stdout %s", a.status, a.stdout)
	}
	says(t, "stderr", a.stderr, "namespace kube-system: Forbidden", "list on namespaces")
	f.unchanged(before...)
	if _, err := os.Stat(a.receipt); err == nil {
		t.Error("there is a receipt")
	}

	kubeSystem := rule("", "namespaces", "list").named("kube-system")
	a = f.adopt("--yes", "--kubeconfig", f.user("kube-system-alone", append(grants, kubeSystem)...))
	if a.status != 0 || a.document.Summary.Done != 3 {
		t.Errorf("with the right that was named: status %d, %+v: %s", a.status, a.document, a.stderr)
	}
}

// once makes a name that no earlier run of a test has used.
func once(name string) string { return name + "-" + strings.ToLower(rand.Text()) }

// refusal is a policy of the cluster that refuses to have objects with the label e2e=NAME written to, and says why. A name is used once: the
// server forgets a policy a moment after it was deleted.
func (f *fleetServer) refusal(name, says string) {
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

// awaitRefusal returns when the cluster refuses to have an object written to: it learns of its policies a moment later.
func (f *fleetServer) awaitRefusal(name string, obj *unstructured.Unstructured) {
	f.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"e2e":"try"}}}`))
	poll.Until(f.t, func() error {
		err := f.Client().Patch(f.t.Context(), obj.DeepCopy(), patch, client.DryRunAll)
		if err == nil {
			return errors.New("waiting for the policy to refuse writes: not yet")
		}
		if !strings.Contains(err.Error(), name) {
			return err
		}
		return nil
	})
}

// encoded writes a value as a Secret's data has it, without the padding, which is not there where it is quoted within more.
func encoded(value string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(value))[:len(value)]
}

// TestRefusedByPolicy has a policy of the cluster refuse one of the writes. That is reported of the object, in the policy's words; the rest
// goes on. A dry run says the same beforehand, and changes nothing.
func TestRefusedByPolicy(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook)
	f.strip(parts()...)
	team := once("platform-team")
	f.merge("kubectl", configMap("settings"), `{"metadata":{"labels":{"e2e":"`+team+`"}}}`)
	f.refusal(team, `"the platform team keeps " + object.metadata.name`)
	f.awaitRefusal(team, configMap("settings"))
	before := f.getAll(parts()...)

	want := map[string]string{settings: "Adopt NoMark Failed", textsKey: "Adopt NoMark Done", frontendKey: "Adopt NoMark Done"}
	dry := f.adopt("--dry-run", "server")
	expectAdoption(t, dry, 3, want)
	says(t, "what the dry run says", dry.object(t, settings).Message, "the platform team keeps settings")
	f.unchanged(before...)
	if _, err := os.Stat(dry.receipt); err == nil {
		t.Error("a dry run has left a receipt")
	}

	a := f.adopt("--yes")
	expectAdoption(t, a, 3, want)
	says(t, "what is said of it", a.object(t, settings).Message, "the platform team keeps settings", "platform-team")
	f.unchanged(before[0])
	b.onlyMarks(b.stamps(), before[1:]...)
	if u := f.undo(a.receipt); u.status != 0 || u.document.Summary.Unchanged != 1 {
		t.Errorf("undoing: status %d, %+v", u.status, u.document.Summary)
	}
	f.restored(before...)
}

// The values of a Secret that this test invents, as they are, in base64, and as somebody may quote them.
const (
	inventedLive    = "invented-live-passphrase"
	inventedDesired = "invented-desired-passphrase"
)

// TestNoSecretIsShown adopts a Secret whose values differ from the bundle's, with an annotation that holds them, in a cluster whose policy
// quotes them: no output in any format, no message and no receipt holds one.
func TestNoSecretIsShown(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", "{apiVersion: v1, kind: Secret, metadata: {name: credentials}, stringData: {password: "+inventedDesired+"}}\n---\n"+
		"{apiVersion: v1, kind: Secret, metadata: {name: more}, stringData: {password: "+inventedDesired+"}}")
	credentials, more := object("v1", "Secret", apps, "credentials"), object("v1", "Secret", apps, "more")
	f.strip(credentials, more)
	f.merge("kubectl", credentials, `{"stringData":{"password":"`+inventedLive+`"},"metadata":{"annotations":{
		"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"stringData\":{\"password\":\"`+inventedLive+`\"}}"}}}`)
	quoting := once("quoting")
	f.merge("kubectl", more, `{"metadata":{"labels":{"e2e":"`+quoting+`"}},"stringData":{"password":"`+inventedLive+`"}}`)
	f.refusal(quoting, `"not this one, with " + string(object.data.password)`)
	f.awaitRefusal(quoting, more)

	var shown strings.Builder
	for _, args := range [][]string{{"table"}, {"wide", "--diff"}, {"json"}, {"yaml", "--diff"}, {"name"}, {"wide", "--dry-run", "server"},
		{"json", "--dry-run", "server"}} {
		r := run(t.Context(), t, append([]string{"adopt", "--kubeconfig", f.kubeconfig, "-o"}, args...)...)
		shown.WriteString(r.stdout + r.stderr)
	}
	a := f.adopt("--yes")
	if a.status != 3 || a.document.Summary.Done != 1 || a.document.Summary.Failed != 1 {
		t.Errorf("status %d, %+v: %s", a.status, a.document.Summary, a.stderr)
	}
	shown.WriteString(a.stdout + a.stderr)
	says(t, "what was shown", shown.String(), "***", "not this one, with")
	plan := run(t.Context(), t, "adopt", "--kubeconfig", f.kubeconfig, "--undo", a.receipt, "-o", "wide")
	undone := f.undo(a.receipt)
	shown.WriteString(plan.stdout + plan.stderr + undone.stdout + undone.stderr)
	receipt, err := os.ReadFile(a.receipt)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"what was shown": shown.String(), "the receipt": string(receipt)} {
		for _, value := range []string{inventedLive, inventedDesired} {
			for _, form := range []string{value, encoded(value)} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s holds a value of a Secret: %s", where, text[max(0, i-200):i+len(form)])
				}
			}
		}
	}
}
