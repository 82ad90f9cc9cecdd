// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// summaryOf audits a sample.
func summaryOf(t *testing.T, sample string, args ...string) (report.Summary, result) {
	t.Helper()
	got := run(t, append([]string{"audit", "--snapshot", sample, "-o", "json"}, args...)...)
	var a report.Audit
	if got.status < 2 {
		if err := json.Unmarshal([]byte(got.out), &a); err != nil {
			t.Fatal(err)
		}
	}
	return a.Summary, got
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestIgnoreFile checks where the ignore file is read, and the exit status.
func TestIgnoreFile(t *testing.T) {
	root, err := filepath.Abs(sick)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if s, got := summaryOf(t, root); s.Ignored != 0 || got.status != 1 {
		t.Errorf("without a file: %+v, status %d: %s", s, got.status, got.errOut)
	}
	put(t, ".fleetdoctor.yaml", "ignore: [{code: [FD101, FD102, FD104, FD205, FD701], reason: known}]")
	if s, got := summaryOf(t, root); s.Ignored != 8 || got.status != 0 || s.Findings.Error+s.Findings.Warning != 0 {
		t.Errorf("default: %+v, status %d: %s", s, got.status, got.errOut)
	}
	if got := run(t, "audit", "--snapshot", root); !strings.Contains(got.out, ".fleetdoctor.yaml") {
		t.Errorf("the report does not name the default file:\n%s", got.out)
	}
	if s, got := summaryOf(t, root, "--ignore-file="); s.Ignored != 0 || got.status != 1 {
		t.Errorf("no file: %+v, status %d: %s", s, got.status, got.errOut)
	}
	put(t, "other.yaml", "ignore: [{code: FD101, reason: known}]")
	if s, got := summaryOf(t, root, "--ignore-file=other.yaml"); s.Ignored != 1 || got.status != 1 {
		t.Errorf("another file: %+v, status %d: %s", s, got.status, got.errOut)
	}
	put(t, ".fleetdoctor.yaml", "ignore: [{code: FD101}]")
	if _, got := summaryOf(t, root); got.status != 2 || got.out != "" ||
		!strings.Contains(got.errOut, ".fleetdoctor.yaml:1:") {
		t.Errorf("a wrong file: status %d: %s", got.status, got.errOut)
	}
	put(t, ".fleetdoctor.yaml", strings.Repeat("# comment\n", 1<<18))
	if _, got := summaryOf(t, root); got.status != 2 || !strings.Contains(got.errOut, "1 MiB") {
		t.Errorf("a large file: status %d: %s", got.status, got.errOut)
	}
	if _, got := summaryOf(t, root, "--ignore-file=absent.yaml"); got.status != 2 ||
		!strings.Contains(got.errOut, "reading the ignore file: open absent.yaml") {
		t.Errorf("an absent file: status %d: %s", got.status, got.errOut)
	}
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	put(t, outside, "ignore: [{code: FD101, reason: known}]")
	for what, create := range map[string]func() error{
		"a link that leaves the directory": func() error { return os.Symlink(outside, ".fleetdoctor.yaml") },
		"a directory":                      func() error { return os.Mkdir(".fleetdoctor.yaml", 0o700) },
	} {
		if err := os.RemoveAll(".fleetdoctor.yaml"); err != nil {
			t.Fatal(err)
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if _, got := summaryOf(t, root); got.status != 2 || got.out != "" {
			t.Errorf("%s: status %d: %s", what, got.status, got.errOut)
		}
	}
}
