// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// volatile are the parts of the output that differ between runs or versions of Kubernetes, with their replacement.
var volatile = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-01-02T03:04:05Z"},
	{regexp.MustCompile(`in [0-9.]+m?s\b`), "in 10ms"},
	{regexp.MustCompile(`context \S+ taken at`), "context prod taken at"},
	// kubectl 1.32 omits the namespace
	{regexp.MustCompile(`(configmap "texts" deleted)( from apps namespace)?`), "$1 from apps namespace"},
	{regexp.MustCompile(`Kubernetes v1\.\d+\.\d+`), "Kubernetes v1.36.3"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("0123456789abcdef", 4)},
}

// step is a command of a document, with the text before it.
type step struct {
	text, args string
	status     int
	// audit is the key under which the output is kept; hidden leaves the output out of the document.
	audit  string
	hidden bool
	// before prepares the cluster.
	before func()
}

// sickCluster starts a server with the objects of testdata/sick.
func sickCluster(t *testing.T) *fleetServer {
	t.Helper()
	c := cluster.Start(t)
	c.LoadSnapshot(t, "../testdata/sick")
	f := &fleetServer{Cluster: c, t: t}
	f.reports("sick")
	t.Setenv("KUBECONFIG", c.Kubeconfig(t))
	return f
}

// reports writes the status that the agent and the controllers report in a capture in testdata. The generations are
// those of this server, and the agent has reported just now.
func (f *fleetServer) reports(capture string) {
	f.t.Helper()
	for _, kind := range []string{"bundledeployments.fleet.cattle.io", "bundles.fleet.cattle.io",
		"gitrepos.fleet.cattle.io", "clusters.fleet.cattle.io", "deployments.apps"} {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", capture, kind+".json"))
		list := &unstructured.UnstructuredList{}
		if err == nil {
			err = list.UnmarshalJSON(raw)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			live := f.get(&list.Items[i])
			status, _ := list.Items[i].Object["status"].(map[string]any) // each has one
			if _, observed := status["observedGeneration"]; observed {
				status["observedGeneration"] = live.GetGeneration()
			}
			if agent, ok := status["agent"].(map[string]any); ok {
				agent["lastSeen"] = time.Now().UTC().Format(time.RFC3339)
			}
			live.Object["status"] = status
			if err := f.Client().Status().Update(f.t.Context(), live, client.FieldOwner(capture)); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// walk runs the steps, and returns the text of the document and the outputs by their keys.
func walk(t *testing.T, steps []step) (document string, audits map[string]string) {
	t.Helper()
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
	var output bytes.Buffer
	audits = map[string]string{}
	for _, step := range steps {
		if step.before != nil {
			step.before()
		}
		args := strings.Fields(strings.ReplaceAll(step.args, "receipt.jsonl", receipt))
		var terminal bytes.Buffer
		status := cmd.Main(t.Context(), append([]string{"kubectl-fleetdoctor"}, args...),
			cli.Environment{Pause: noPause, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &terminal,
				ErrOut: &terminal}})
		shown := normalized(terminal.String(), receipt)
		if status != step.status {
			t.Fatalf("%s: status %d, want %d: %s", step.args, status, step.status, shown)
		}
		audits[step.audit] = shown
		if output.WriteString(step.text + "\n\n"); !step.hidden {
			fmt.Fprintf(&output, "```\n$ kubectl fleetdoctor %s\n%s```\n\n", step.args, shown)
		}
	}
	return output.String(), audits
}

// TestWalkthrough runs the adoption and the undo of docs/adoption.md on a server with the objects of
// testdata/sick. After an intended change: go test ./test/e2e -run TestWalkthrough -update, and read the
// difference.
func TestWalkthrough(t *testing.T) {
	sickCluster(t)
	document, audits := walk(t, []step{
		{text: "On this cluster, two of eight objects are ready. Three objects exist, but their bundles do not own " +
			"them:", args: "audit --fail-on=none", audit: "before"},
		{text: "The plan lists what has to be written. Without a terminal, `adopt` cannot ask for confirmation, so it " +
			"only shows the plan:", args: "adopt", status: 1},
		{text: "The stricter policy does not take objects with the ownership metadata of another set, even if that " +
			"set has no release any more:", args: "adopt --policy=unmarked clusterrole/edge-reader", status: 1},
		{text: "`owner` shows who owns an object, and on which evidence:", args: "owner clusterrole/edge-reader"},
		{text: "`--yes` applies the plan. Before the first write, the receipt with the previous values is on disk:",
			args: "adopt --yes --receipt receipt.jsonl"},
		{text: "The remaining findings are about missing and modified objects. They have nothing to do with " +
			"ownership; [repair](verbs/repair.md) repairs these objects too:",
			args: "audit --fail-on=none", audit: "adopted"},
		{text: "`--undo` restores the previous values:", args: "adopt --undo receipt.jsonl --yes"},
		{text: "An audit now prints the same as at the beginning, except for the times.", args: "audit --fail-on=none",
			audit: "after", hidden: true},
	})
	if diff := cmp.Diff(audits["before"], audits["after"]); diff != "" {
		t.Errorf("the audit after the undo differs (-before +after):\n%s", diff)
	}
	if a := audits["adopted"]; !strings.Contains(a, "FD101") || !strings.Contains(a, "FD104") ||
		strings.Contains(a, "FD102") {
		t.Errorf("after the adoption there are other findings than FD101 and FD104:\n%s", a)
	}
	expectDocument(t, "../../docs/adoption.md", document)
}

// TestWalkthroughTutorial runs the repair and the undo of docs/tutorial.md on a server with the objects of
// testdata/sick. After the repair, the agent reports what it reported in testdata/clean.
func TestWalkthroughTutorial(t *testing.T) {
	f := sickCluster(t)
	document, audits := walk(t, []step{
		{text: "## 7. Repair\n\nThe next commands need a cluster that can be written to. Here it is a real API " +
			"server with the objects of the capture. They have the states of step 1:",
			args: "audit --summary --severity=error", status: 1},
		{text: "On a terminal, `repair` shows the plan, and asks before it writes. `--yes` answers the question. " +
			"First, `repair` writes a receipt: a file with what an undo needs. After the last step, it counts the ready " +
			"objects again. The Deployment is not ready yet, because its pods need some time:",
			args: "repair --yes --receipt receipt.jsonl"},
		{text: "## 8. Check the result\n\nSome seconds later, Fleet's agent has seen the changes too. Both " +
			"columns of the table are equal:", args: "audit", audit: "repaired", before: func() { f.reports("clean") }},
		{text: "## 9. Undo\n\nThe receipt takes the repair back. `--undo` asks too, unless there is `--yes`. It undoes " +
			"the last step first:", args: "repair --undo receipt.jsonl --yes"},
		{text: "One object is not as before: the Secret. A receipt never has the values of a Secret, so the password " +
			"stays repaired. The other objects are as in step 1:", args: "audit --summary --severity=error",
			status: 1, audit: "undone", before: func() { f.reports("sick") }},
	})
	for key, want := range map[string]string{"repaired": "8 of 8 objects ready", "undone": "1 missing, 3 unowned, " +
		"1 modified"} {
		if !strings.Contains(audits[key], want) {
			t.Errorf("the audit has no %q: %s", want, audits[key])
		}
	}
	expectDocument(t, "../../docs/tutorial.md", document)
}

// normalized replaces the parts of the output that differ between runs.
func normalized(s, receipt string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, receipt, "receipt.jsonl"), "kubectl-fleetdoctor",
		"kubectl fleetdoctor")
	for _, c := range volatile {
		s = c.pattern.ReplaceAllString(s, c.shown)
	}
	return s
}

// expectDocument compares the generated part of a document with the output, or writes it.
func expectDocument(t *testing.T, file, want string) {
	t.Helper()
	const begin, end = "<!-- Generated by test/e2e: go test ./test/e2e -run TestWalkthrough -update -->\n\n",
		"<!-- end -->\n"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	current, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no comments that enclose its generated part", file)
	}
	if golden.Updating() {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(current, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s differs from the output (-document +output):\n%s", file, diff)
	}
}
