// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// texts is an object as it is restored from a backup: with Helm's label and annotations, and without Fleet's.
const texts = `apiVersion: v1
kind: ConfigMap
metadata:
  name: texts
  namespace: apps
  labels:
    app.kubernetes.io/managed-by: Helm
  annotations:
    meta.helm.sh/release-name: guestbook
    meta.helm.sh/release-namespace: apps
data:
  greeting: hello
`

// identity matches the fields that the server generates.
var identity = regexp.MustCompile(`(resourceVersion: |uid: ).*`)

// walkthrough runs commands and writes them to a document.
type walkthrough struct {
	*fleetServer
	dir    string
	output bytes.Buffer
}

// text adds a paragraph.
func (w *walkthrough) text(text string) { w.output.WriteString(text + "\n\n") }

// run runs a command that must end with this status and print all of these words.
func (w *walkthrough) run(line string, status int, words ...string) {
	w.t.Helper()
	args := strings.Fields(line) // no argument contains a space
	var out bytes.Buffer
	var got int
	if args[1] == "fleetdoctor" {
		got = cmd.Main(w.t.Context(), append([]string{"kubectl-fleetdoctor"}, args[2:]...),
			cli.Environment{Pause: noPause, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out,
				ErrOut: &out}})
	} else {
		kubectl := exec.CommandContext(w.t.Context(), w.Kubectl(), args[1:]...)
		kubectl.Dir, kubectl.Stdout, kubectl.Stderr = w.dir, &out, &out
		got = exitStatus(w.t, kubectl.Run())
	}
	shown := identity.ReplaceAllString(normalized(out.String(), "receipt.jsonl"), "$1…")
	if got != status {
		w.t.Fatalf("%s: status %d, want %d:\n%s", line, got, status, shown)
	}
	for _, s := range words {
		if !strings.Contains(shown, s) {
			w.t.Errorf("%s does not print %q:\n%s", line, s, shown)
		}
	}
	fmt.Fprintf(&w.output, "```\n$ %s\n%s```\n\n", line, shown)
}

// TestWalkthroughWebhook runs the commands of docs/webhook.md, without and with the webhook.
func TestWalkthroughWebhook(t *testing.T) {
	w := &walkthrough{fleetServer: newFleet(t, shared), dir: t.TempDir()}
	w.deploy("guestbook", guestbook)
	t.Setenv("KUBECONFIG", w.kubeconfig)
	if err := os.WriteFile(filepath.Join(w.dir, "texts.yaml"), []byte(texts), 0o600); err != nil {
		t.Fatal(err)
	}
	w.remove(configMap("texts"))

	w.text("The bundle guestbook has three objects. One of them was deleted. Somebody creates it again, with Helm's " +
		"label and annotations but without Fleet's. `helm.takeOwnership` can leave an object in this state.")
	w.text("```\n$ cat texts.yaml\n" + texts + "```")
	w.text("Without the webhook, the object exists as the bundle desires it, and Fleet reports it as missing:")
	w.run("kubectl create -f texts.yaml", 0)
	w.run("kubectl fleetdoctor audit --fail-on=none", 0, "FD102")
	w.run("kubectl delete -f texts.yaml", 0)

	h := w.serveWebhook("default")
	w.text("With the webhook, the same object gets the missing label and annotation when it is created:")
	w.run("kubectl create -f texts.yaml", 0)
	w.run("kubectl get configmap texts -n apps -o yaml", 0,
		"objectset.rio.cattle.io/hash: c5c68538ff9800def965853a87784a250ad1f566",
		"objectset.rio.cattle.io/id: default-guestbook",
		"app.kubernetes.io/managed-by: Helm",
		"meta.helm.sh/release-name: guestbook",
		"meta.helm.sh/release-namespace: apps")
	w.run("kubectl fleetdoctor audit", 0, "3/3")
	w.text("`owner` shows who set them:")
	w.run("kubectl fleetdoctor owner configmap/texts -n apps", 0, "set at admission")

	w.text("A request that removes ownership metadata gets a warning, and the metadata is restored:")
	w.run("kubectl label configmap/texts -n apps objectset.rio.cattle.io/hash-", 0, "guestbook will be at most 2/3",
		"fleetdoctor/Restored")
	w.run("kubectl fleetdoctor audit", 0, "3/3")
	w.text("It also warns if somebody deletes the object:")
	w.run("kubectl delete configmap/texts -n apps --dry-run=server", 0, "guestbook will be at most 2/3")
	w.text("With the label `fleetdoctor.io/guard=deny` on the namespace, both requests are denied:")
	w.run("kubectl label namespace apps fleetdoctor.io/guard=deny", 0)
	h.awaitGuard("denied")
	w.run("kubectl delete configmap/texts -n apps", 1, "guestbook will be at most 2/3",
		"fleetdoctor.io/ignore=true first")
	w.run("kubectl label configmap/texts -n apps objectset.rio.cattle.io/hash-", 1, "denied the request")
	w.run("kubectl label namespace apps fleetdoctor.io/guard-", 0)
	h.awaitGuard("warned")
	expectDocument(t, "../../docs/webhook.md", w.output.String())
	// Not in the page: this webhook has no Deployment, so status reports problems.
	w.run("kubectl fleetdoctor webhook status -o json", 1, `"result": "Works"`, `"answer": "Restored"`)
}

// awaitGuard returns when the webhook decides this about a deletion in namespace apps.
func (h *webhookProcess) awaitGuard(decision string) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.requestCount("guard", decision, "")
		out, _ := exec.CommandContext(h.t.Context(), h.Kubectl(), "delete", "configmap/texts", "-n", apps,
			"--dry-run=server").CombinedOutput()
		// the metric shows the decision; kubectl's status follows from it
		if h.requestCount("guard", decision, "") == before {
			return fmt.Errorf("the deletion is not %s: %s", decision, out)
		}
		return nil
	})
}
