// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

var update = flag.Bool("update", false,
	"rewrite the generated part of docs/how-to/adoption.md and docs/how-to/webhook-walkthrough.md")

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

// TestWalkthrough runs the adoption and the undo of docs/how-to/adoption.md on a server with the objects of
// testdata/sick. After an intended change: go test ./test/e2e -run TestWalkthrough -update, and read the
// difference.
func TestWalkthrough(t *testing.T) {
	c := cluster.Start(t)
	c.LoadSnapshot(t, "../testdata/sick")
	f := &fleetServer{Cluster: c, t: t}
	f.merge("kube-controller-manager", object("apps/v1", "Deployment", "guestbook", "frontend"),
		`{"status":{"observedGeneration":1}}`, "status")
	// The capture is older than the server: its agent would be stale.
	f.merge("fleet-agent", object("fleet.cattle.io/v1alpha1", "Cluster", "fleet-local", "local"),
		fmt.Sprintf(`{"status":{"agent":{"lastSeen":%q}}}`, time.Now().UTC().Format(time.RFC3339)), "status")
	t.Setenv("KUBECONFIG", c.Kubeconfig(t))
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")

	var output bytes.Buffer
	audits := map[string]string{}
	for _, step := range []struct {
		text   string
		args   string
		status int
		audit  string // key under which the output is kept
	}{
		{"On this cluster, two of eight objects are ready. Three objects exist, but their bundles do not own them:",
			"audit --fail-on=none", 0, "before"},
		{"The plan lists what has to be written. Without a terminal, `adopt` cannot ask for confirmation, so it only " +
			"shows the plan:", "adopt", 1, ""},
		{"The stricter policy does not take objects with the ownership metadata of another set, even if that set has " +
			"no release any more:", "adopt --policy=unmarked clusterrole/edge-reader", 1, ""},
		{"`owner` shows who owns an object, and on which evidence:", "owner clusterrole/edge-reader", 0, ""},
		{"`--yes` applies the plan. Before the first write, the receipt with the previous values is on disk:",
			"adopt --yes --receipt receipt.jsonl", 0, ""},
		{"The remaining findings are about missing and modified objects. They have nothing to do with ownership:",
			"audit --fail-on=none", 0, "adopted"},
		{"`--undo` restores the previous values:", "adopt --undo receipt.jsonl --yes", 0, ""},
		{"An audit now prints the same as at the beginning, except for the times.", "audit --fail-on=none", 0, "after"},
	} {
		args := strings.Fields(strings.ReplaceAll(step.args, "receipt.jsonl", receipt))
		var terminal bytes.Buffer
		status := cmd.Main(t.Context(), append([]string{"kubectl-fleetdoctor"}, args...),
			verb.Environment{Pause: noPause, Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &terminal,
				ErrOut: &terminal}})
		shown := normalized(terminal.String(), receipt)
		if status != step.status {
			t.Fatalf("%s: status %d, want %d: %s", step.args, status, step.status, shown)
		}
		audits[step.audit] = shown
		if output.WriteString(step.text + "\n\n"); step.audit != "after" {
			fmt.Fprintf(&output, "```\n$ kubectl fleetdoctor %s\n%s```\n\n", step.args, shown)
		}
	}
	if diff := cmp.Diff(audits["before"], audits["after"]); diff != "" {
		t.Errorf("the audit after the undo differs (-before +after):\n%s", diff)
	}
	if a := audits["adopted"]; !strings.Contains(a, "FD101") || !strings.Contains(a, "FD104") ||
		strings.Contains(a, "FD102") {
		t.Errorf("after the adoption there are other findings than FD101 and FD104:\n%s", a)
	}
	expectDocument(t, "../../docs/how-to/adoption.md", output.String())
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
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(current, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s differs from the output (-document +output):\n%s", file, diff)
	}
}
