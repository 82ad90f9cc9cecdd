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

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

var update = flag.Bool("update", false, "rewrite the walk through docs/adoption.md with what comes out")

// changing is what differs each time in what is printed, with what stands in its place.
var changing = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-01-02T03:04:05Z"},
	{regexp.MustCompile(`in [0-9.]+m?s\b`), "in 10ms"},
	{regexp.MustCompile(`context \S+ taken at`), "context sick taken at"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("0123456789abcdef", 4)},
}

// TestWalkthrough goes through an adoption and back on a server with the sick cluster's objects, as docs/adoption.md tells it. After a change
// that is meant: go test ./test/e2e -run TestWalkthrough -update, and read the difference.
func TestWalkthrough(t *testing.T) {
	c := cluster.Start(t)
	c.LoadSnapshot(t, "../testdata/sick")
	f := &fleetServer{Cluster: c, t: t}
	f.merge("kube-controller-manager", object("apps/v1", "Deployment", "guestbook", "frontend"), `{"status":{"observedGeneration":1}}`, "status")
	t.Setenv("KUBECONFIG", c.Kubeconfig(t))
	receipt := filepath.Join(t.TempDir(), "receipt.jsonl")

	var told bytes.Buffer
	audits := map[string]string{}
	for _, step := range []struct {
		says   string
		args   string
		status int
		audit  string // under which name the output is remembered
	}{
		{"A cluster on which two of eight objects are what their bundles want. Three are there, and not the bundles' own:", "audit --fail-on=none", 0, "before"},
		{"What would it take to make them the bundles'? Without a terminal to ask on, the plan is all there is:", "adopt", 1, ""},
		{"With the stricter policy what another set has marked is left alone, even if nobody has that set any more:", "adopt --policy=unmarked clusterrole/edge-reader", 1, ""},
		{"Whose is it now, and how is that known?", "owner clusterrole/edge-reader", 0, ""},
		{"Done as planned. What each object had before is on disk first:", "adopt --yes --receipt receipt.jsonl", 0, ""},
		{"What is left is missing or modified, which is no question of ownership:", "audit --fail-on=none", 0, "adopted"},
		{"And back:", "adopt --undo receipt.jsonl --yes", 0, ""},
		{"Everything is as it was, and an audit prints what it printed first, byte for byte but times.", "audit --fail-on=none", 0, "after"},
	} {
		args := strings.Fields(strings.ReplaceAll(step.args, "receipt.jsonl", receipt))
		var terminal bytes.Buffer
		status := cmd.Main(t.Context(), append([]string{"kubectl-fleetdoctor"}, args...),
			genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &terminal, ErrOut: &terminal})
		shown := shownAlways(terminal.String(), receipt)
		if status != step.status {
			t.Fatalf("%s: status %d, want %d: %s", step.args, status, step.status, shown)
		}
		audits[step.audit] = shown
		if told.WriteString(step.says + "\n\n"); step.audit != "after" {
			fmt.Fprintf(&told, "```\n$ kubectl fleetdoctor %s\n%s```\n\n", step.args, shown)
		}
	}
	if diff := cmp.Diff(audits["before"], audits["after"]); diff != "" {
		t.Errorf("after the undo not everything is as it was (-before +after):\n%s", diff)
	}
	if a := audits["adopted"]; !strings.Contains(a, "FD101") || !strings.Contains(a, "FD104") || strings.Contains(a, "FD102") {
		t.Errorf("after the adoption more is left than what is missing and modified:\n%s", a)
	}
	holdDocument(t, "../../docs/adoption.md", told.String())
}

// shownAlways takes out of what is printed what differs each time.
func shownAlways(s, receipt string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, receipt, "receipt.jsonl"), "kubectl-fleetdoctor", "kubectl fleetdoctor")
	for _, c := range changing {
		s = c.pattern.ReplaceAllString(s, c.shown)
	}
	return s
}

// holdDocument holds what stands between the marks in a document, or writes it anew.
func holdDocument(t *testing.T, file, want string) {
	t.Helper()
	const begin, end = "<!-- Told by test/e2e: go test ./test/e2e -run TestWalkthrough -update -->\n\n", "<!-- end -->\n"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	told, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no marks to tell between", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(told, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s tells something else (-told +seen):\n%s", file, diff)
	}
}
