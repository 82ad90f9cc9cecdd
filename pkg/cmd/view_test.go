// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestQuiet checks that --quiet prints nothing but errors, and does not change the exit status.
func TestQuiet(t *testing.T) {
	for _, args := range []string{"audit", "audit -o json", "audit --severity=error --code=FD108", "audit gitrepo/none",
		"preflight", "why bundle/guestbook-guestbook -A",
		"owner configmap/theme -A", "agents", "targets bundle/ingress-ingress -A", "impact gitrepo/guestbook"} {
		full := append(strings.Fields(args), "--snapshot", sick)
		want, got := run(t, full...), run(t, append(full, "-q")...)
		if got.out != "" || got.status != want.status || got.errOut != want.errOut {
			t.Errorf("%s: status %d, want %d, printed %q and %q, want %q", args, got.status, want.status, got.out,
				got.errOut, want.errOut)
		}
	}
}

// TestNoHeaders checks that the tables of a verb lose only their headers.
func TestNoHeaders(t *testing.T) {
	for args, headers := range map[string][]string{
		"audit":                           {"Audit of ", "BUNDLEDEPLOYMENT ", "AGGREGATE "},
		"audit gitrepo/guestbook":         {"Audit of ", "BUNDLEDEPLOYMENT "},
		"audit gitrepo/guestbook -o tree": {"Tree of ", "TREE "},
		"audit -o wide":                   {"Audit of ", "BUNDLEDEPLOYMENT ", "AGGREGATE "},
		"agents":                          {"Agents of ", "CLUSTER "},
	} {
		full := append(strings.Fields(args), "--snapshot", sick)
		var want []string
		for line := range strings.Lines(run(t, full...).out) {
			header := false
			for _, h := range headers {
				header = header || strings.HasPrefix(line, h)
			}
			if !header && strings.TrimSpace(line) != "" {
				want = append(want, line)
			}
		}
		var got []string
		for line := range strings.Lines(run(t, append(full, "--no-headers")...).out) {
			if strings.TrimSpace(line) != "" {
				got = append(got, line)
			}
		}
		if strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%s:\n%s\nwant:\n%s", args, strings.Join(got, ""), strings.Join(want, ""))
		}
	}
}

// TestSince checks that a change that was recorded before --since is hidden, that one without a recorded time is shown,
// and that the findings that are shown decide the exit status.
func TestSince(t *testing.T) {
	const changed, undated = "secret guestbook/smtp differs", "deployment guestbook/frontend differs"
	for _, tc := range []struct {
		args   string
		status int
		smtp   bool
	}{
		{"--since=10s", 1, true}, // 8 s before the snapshot was taken
		{"--since=5s", 1, false},
		{"--since=2026-11-20T07:47:27Z", 1, true},
		{"--since=2026-11-20T07:47:28Z --fail-on=error", 0, false},
		{"--since=yesterday", 2, false},
	} {
		got := run(t, append([]string{"audit", "--snapshot", sick, "--code=FD104"}, strings.Fields(tc.args)...)...)
		if got.status != tc.status || strings.Contains(got.out, changed) != tc.smtp {
			t.Errorf("%s: status %d, want %d: %s%s", tc.args, got.status, tc.status, got.out, got.errOut)
		}
		if complete := tc.status < 2; strings.Contains(got.out, undated) != complete {
			t.Errorf("%s: a finding without a time is not shown: %s", tc.args, got.out)
		}
	}
}
