// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// unownedGuestbook deploys a guestbook and removes the ownership metadata of its objects.
func unownedGuestbook(t *testing.T) (b *bundle, before []*unstructured.Unstructured) {
	t.Helper()
	f := newFleet(t, shared)
	b = f.deploy("guestbook", guestbook)
	f.removeOwnership(guestbookObjects()...)
	return b, f.getAll(guestbookObjects()...)
}

// TestNothingWrittenWithoutConfirmation checks that adopt writes nothing without a confirmation.
func TestNothingWrittenWithoutConfirmation(t *testing.T) {
	b, before := unownedGuestbook(t)
	adopts := map[string]string{settings: "Adopt NoMark", textsKey: "Adopt NoMark", frontendKey: "Adopt NoMark"}
	plan := b.adopt()
	expectAdoption(t, plan, 1, adopts)
	expectContains(t, "stderr", plan.stderr, "not applied", "--yes", "--confirm="+plan.document.Digest)

	client := b.adopt("--dry-run=client", "--yes")
	expectAdoption(t, client, 0, adopts)
	if client.document.DryRun != "client" || client.document.Kind != report.KindAdoptionPlan {
		t.Errorf("the client-side dry run printed %s, dryRun %q", client.document.Kind, client.document.DryRun)
	}
	for _, args := range [][]string{{"--dry-run=server"}, {"--dry-run=server", "--yes"},
		{"--dry-run=server", "--confirm", plan.document.Digest}} {
		server := b.adopt(args...)
		expectAdoption(t, server, 0, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt NoMark Done",
			frontendKey: "Adopt NoMark Done"})
		if d := server.document; d.DryRun != "server" || d.Kind != report.KindAdoptionResult || d.Receipt != "" ||
			d.Deployments != nil {
			t.Errorf("%s: the server's dry run printed %s, dryRun %q, receipt %q, deployments %v", args, d.Kind,
				d.DryRun, d.Receipt, d.Deployments)
		}
	}
	wrong := b.adopt("--confirm", strings.Repeat("0", 64))
	expectAdoption(t, wrong, 1, adopts)
	expectContains(t, "stderr", wrong.stderr, "not applied", strings.Repeat("0", 64), plan.document.Digest)
	for _, args := range [][]string{{"--yes", "--confirm", plan.document.Digest}, {"--policy", "all"},
		{"--dry-run=maybe"}, {"--undo", "x", "bundle/guestbook"},
		{"--undo", "x", "--policy", "unmarked"}} {
		if r := b.adopt(args...); r.status != 2 || r.stdout != "" {
			t.Errorf("%s: status %d, want 2: %s", args, r.status, r.stdout)
		}
	}
	b.expectUnchanged(before...)
}

// TestConfirmDigest applies only the reviewed plan. An object that was created again changes the digest of the
// plan; a change of other fields does not.
func TestConfirmDigest(t *testing.T) {
	b, _ := unownedGuestbook(t)
	f := b.fleetServer
	reviewed := f.adopt().document.Digest
	f.merge("kubectl-edit", configMap("settings"), `{"data":{"extra":"1"}}`)
	before := f.getAll(guestbookObjects()...)
	a := f.adopt("--confirm", reviewed)
	expectAdoption(t, a, 0, map[string]string{settings: "Adopt NoMark Done", textsKey: "Adopt NoMark Done",
		frontendKey: "Adopt NoMark Done"})
	b.expectOnlyOwnership(b.ownership(), before...)

	if u := f.undo(a.receipt); u.status != 0 {
		t.Fatalf("undoing: status %d", u.status)
	}
	f.remove(configMap("settings"))
	// the same name and another uid
	f.ApplyYAML(t, "kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: apps}}")
	before = f.getAll(guestbookObjects()...)
	if again := f.adopt("--confirm", reviewed); again.status != 1 {
		t.Errorf("a plan for another object with that name: status %d", again.status)
	}
	f.expectUnchanged(before...)
}

// TestPrompt answers the question that adopt asks on a terminal.
func TestPrompt(t *testing.T) {
	b, before := unownedGuestbook(t)
	for _, test := range []struct {
		name, input string
		status      int
		contains    string
		writes      bool
	}{
		{"no", "n\n", 1, "nothing was written", false},
		{"nothing", "\n", 1, "nothing was written", false},
		{"end of input", "\x04", 1, "nothing was written", false},
		{"Ctrl-C", "\x03", 3, "interrupted: nothing was written", false},
		{"yes", "y\n", 0, "Adopted 3 of 3 objects.", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			receipt := filepath.Join(t.TempDir(), "receipt.jsonl")
			status, written := b.terminal(test.input, "--receipt", receipt)
			if status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			expectContains(t, "the terminal", written, "adopt   configmap apps/settings", "Adopt 3 objects? [y/N] ",
				test.contains)
			if !test.writes {
				b.expectUnchanged(before...)
				if _, err := os.Stat(receipt); err == nil {
					t.Error("there is a receipt")
				}
				return
			}
			b.expectOnlyOwnership(b.ownership(), before...)
			expectContains(t, "the terminal", written, "0/3 → 3/3 ready", "--undo "+receipt)
			if u := b.undo(receipt); u.status != 0 {
				t.Errorf("undoing: status %d", u.status)
			}
			b.expectRestored(before...)
		})
	}
}

// terminal runs the program on a pseudo-terminal, types the input when the program asks, and returns the output.
// Standard error does not go through the terminal, because on Ctrl-C the terminal discards output that is not
// shown yet.
func (b *bundle) terminal(input string, args ...string) (status int, written string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), poll.Deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, built.path(b.t), append([]string{"adopt", "--kubeconfig", b.kubeconfig, "--color",
		"never"}, args...)...)
	stderr := &prompt{asked: make(chan struct{})}
	cmd.Stderr = stderr
	terminal, err := pty.Start(cmd)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }() // the program has ended
	go func() {
		<-stderr.asked
		_, _ = terminal.WriteString(input) // if this fails, the program gets no answer
	}()
	screen, _ := io.ReadAll(terminal) // it ends with an error when the program has ended
	err = cmd.Wait()
	stderr.once.Do(func() { close(stderr.asked) })
	return exitStatus(b.t, err), strings.ReplaceAll(string(screen), "\r\n", "\n") + stderr.text.String()
}

// prompt is a standard error that notices the question.
type prompt struct {
	text  bytes.Buffer // not embedded: its ReadFrom would bypass Write
	once  sync.Once
	asked chan struct{}
}

func (p *prompt) Write(b []byte) (int, error) {
	defer func() {
		if bytes.Contains(p.text.Bytes(), []byte("[y/N] ")) {
			p.once.Do(func() { close(p.asked) })
		}
	}()
	return p.text.Write(b)
}

// TestAdoptionFormats prints the plan, the result and the undo in every machine format. Each is one document.
func TestAdoptionFormats(t *testing.T) {
	b, before := unownedGuestbook(t)
	dir := t.TempDir()
	for _, format := range []string{"json", "yaml", "name"} {
		receipt := filepath.Join(dir, format)
		for _, step := range []struct {
			kind   string
			status int
			undo   bool
			args   []string
		}{
			{report.KindAdoptionPlan, 1, false, nil},
			{report.KindAdoptionPlan, 0, false, []string{"--dry-run=client"}},
			{report.KindAdoptionResult, 0, false, []string{"--dry-run=server"}},
			{report.KindAdoptionResult, 0, false, []string{"--yes", "--receipt", receipt}},
			{report.KindAdoptionPlan, 1, true, []string{"--undo", receipt}},
			{report.KindAdoptionResult, 0, true, []string{"--undo", receipt, "--dry-run=server"}},
			{report.KindAdoptionResult, 0, true, []string{"--undo", receipt, "--yes"}},
		} {
			r := run(t.Context(), t, append([]string{"adopt", "--kubeconfig", b.kubeconfig, "-o", format},
				step.args...)...)
			if r.status != step.status {
				t.Errorf("%s %s: status %d, want %d: %s", format, step.args, r.status, step.status, r.stderr)
			}
			if format == "name" {
				const want = "-n apps configmap/settings\n-n apps configmap/texts\n-n apps service/frontend\n"
				if r.stdout != want {
					t.Errorf("%s: %q, want %q", step.args, r.stdout, want)
				}
				continue
			}
			d := decodeStrict(t, format, r.stdout)
			if d.Kind != step.kind || d.APIVersion != report.APIVersion || d.Undo != step.undo || d.Digest == "" ||
				len(d.Objects) != 3 {
				t.Errorf("%s %s: %s %s, undo %t, digest %q, %d objects", format, step.args, d.APIVersion, d.Kind,
					d.Undo, d.Digest, len(d.Objects))
			}
		}
		b.expectRestored(before...)
	}
}

// decodeStrict decodes exactly one document without unknown fields.
func decodeStrict(t *testing.T, format, text string) report.Repair {
	t.Helper()
	raw := []byte(text)
	var d report.Repair
	if format == "yaml" {
		if strings.Contains(text, "\n---") {
			t.Errorf("several documents")
		}
		if err := yaml.UnmarshalStrict(raw, &d); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return d
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil || dec.More() {
		t.Errorf("more than one document, or %v\n%s", err, text)
	}
	return d
}
