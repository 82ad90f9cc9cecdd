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
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// texts is an object as somebody brings it back, out of a backup: Helm's marks of the release, and nothing by which Fleet knows its own.
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

// identity is what the server makes up for an object.
var identity = regexp.MustCompile(`(resourceVersion: |uid: ).*`)

// walk is somebody at a terminal.
type walk struct {
	*fleetServer
	dir  string
	told bytes.Buffer
}

// says tells what is done next.
func (w *walk) says(text string) { w.told.WriteString(text + "\n\n") }

// do runs a command, which has to end with a status and to print all of what is wanted.
func (w *walk) do(line string, status int, wanted ...string) {
	w.t.Helper()
	args := strings.Fields(line) // no argument has blanks in it
	var out bytes.Buffer
	var got int
	if args[1] == "fleetdoctor" {
		got = cmd.Main(w.t.Context(), append([]string{"kubectl-fleetdoctor"}, args[2:]...), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	} else {
		kubectl := exec.CommandContext(w.t.Context(), w.Kubectl(), args[1:]...)
		kubectl.Dir, kubectl.Stdout, kubectl.Stderr = w.dir, &out, &out
		got = statusOf(w.t, kubectl.Run())
	}
	shown := identity.ReplaceAllString(shownAlways(out.String(), "receipt.jsonl"), "$1…")
	if got != status {
		w.t.Fatalf("%s: status %d, want %d:\n%s", line, got, status, shown)
	}
	for _, s := range wanted {
		if !strings.Contains(shown, s) {
			w.t.Errorf("%s does not print %q:\n%s", line, s, shown)
		}
	}
	fmt.Fprintf(&w.told, "```\n$ %s\n%s```\n\n", line, shown)
}

// TestWalkthroughWebhook runs the commands of docs/webhook-walkthrough.md, with and without the webhook.
func TestWalkthroughWebhook(t *testing.T) {
	w := &walk{fleetServer: newFleet(t, shared), dir: t.TempDir()}
	w.deploy("guestbook", guestbook)
	t.Setenv("KUBECONFIG", w.kubeconfig)
	if err := os.WriteFile(filepath.Join(w.dir, "texts.yaml"), []byte(texts), 0o600); err != nil {
		t.Fatal(err)
	}
	w.remove(configMap("texts"))

	w.says("The bundle guestbook has three objects. One of them was deleted. Somebody creates it again, with Helm's label and annotations but without Fleet's. `helm.takeOwnership` can leave an object in this state.")
	w.says("```\n$ cat texts.yaml\n" + texts + "```")
	w.says("Without the webhook, the object exists as the bundle desires it, and Fleet reports it as missing:")
	w.do("kubectl create -f texts.yaml", 0)
	w.do("kubectl fleetdoctor audit --fail-on=none", 0, "FD102")
	w.do("kubectl delete -f texts.yaml", 0)

	h := w.serveWebhook("default")
	w.says("With the webhook, the same object gets the missing label and annotation when it is created:")
	w.do("kubectl create -f texts.yaml", 0)
	w.do("kubectl get configmap texts -n apps -o yaml", 0, "objectset.rio.cattle.io/hash: c5c68538ff9800def965853a87784a250ad1f566", "objectset.rio.cattle.io/id: default-guestbook",
		"app.kubernetes.io/managed-by: Helm", "meta.helm.sh/release-name: guestbook", "meta.helm.sh/release-namespace: apps")
	w.do("kubectl fleetdoctor audit", 0, "3/3")
	w.says("`owner` shows who set them:")
	w.do("kubectl fleetdoctor owner configmap/texts -n apps", 0, "set at admission")

	w.says("A request that removes ownership metadata gets a warning, and the metadata is restored:")
	w.do("kubectl label configmap/texts -n apps objectset.rio.cattle.io/hash-", 0, "guestbook will be at most 2/3", "fleetdoctor/Restored")
	w.do("kubectl fleetdoctor audit", 0, "3/3")
	w.says("It also warns if somebody deletes the object:")
	w.do("kubectl delete configmap/texts -n apps --dry-run=server", 0, "guestbook will be at most 2/3")
	w.says("With the label `fleetdoctor.io/guard=deny` on the namespace, both requests are denied:")
	w.do("kubectl label namespace apps fleetdoctor.io/guard=deny", 0)
	h.awaitGuard("denied")
	w.do("kubectl delete configmap/texts -n apps", 1, "guestbook will be at most 2/3", "fleetdoctor.io/ignore=true first")
	w.do("kubectl label configmap/texts -n apps objectset.rio.cattle.io/hash-", 1, "denied the request")
	w.do("kubectl label namespace apps fleetdoctor.io/guard-", 0)
	h.awaitGuard("warned")
	w.says("`webhook test` sends a dry run through the webhook. Nothing is changed:")
	w.do("kubectl fleetdoctor webhook test configmap/texts -n apps", 0)
	holdDocument(t, "../../docs/webhook-walkthrough.md", w.told.String())
}

// awaitGuard returns when the webhook has heard what namespace apps wants of its guard.
func (h *hook) awaitGuard(decision string) {
	h.t.Helper()
	poll.Until(h.t, func() error {
		before := h.counted("guard", decision, "")
		out, _ := exec.CommandContext(h.t.Context(), h.Kubectl(), "delete", "configmap/texts", "-n", apps, "--dry-run=server").CombinedOutput()
		if h.counted("guard", decision, "") == before { // how kubectl ends follows from it
			return fmt.Errorf("the deletion is not %s: %s", decision, out)
		}
		return nil
	})
}
