// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

const (
	sick  = "../../test/testdata/sick"
	clean = "../../test/testdata/clean"
)

// result is the result of a command line.
type result struct {
	status      int
	out, errOut string
}

// called runs a command line as a shell does, by the name in args[0], without any kubeconfig of the machine.
func called(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	return calledIn(t.Context(), stdin, args...)
}

func calledIn(ctx context.Context, stdin string, args ...string) result {
	var out, errOut bytes.Buffer
	status := Main(ctx, args, cli.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(stdin),
		Out: &out, ErrOut: &errOut}})
	return result{status, out.String(), errOut.String()}
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	return called(t, "", append([]string{"kubectl-fleetdoctor"}, args...)...)
}

func TestCalledAs(t *testing.T) {
	path := strings.Join([]string{"/usr/bin", "/home/user/.krew/bin"}, string(filepath.ListSeparator))
	for arg0, want := range map[string]string{
		"/home/user/.krew/bin/kubectl-fleetdoctor": "kubectl fleetdoctor", // as kubectl calls its plugins
		"/usr/bin/kubectl-fleetdoctor":             "kubectl fleetdoctor",
		"/usr/bin/kubectl-fleet_doctor":            "kubectl fleet-doctor",
		"/usr/bin/kubectl-fleetdoctor.exe":         "kubectl fleetdoctor",
		"/opt/kubectl-fleetdoctor":                 "kubectl-fleetdoctor", // not on the PATH: no plugin
		// a shell passes the name as the user typed it
		"kubectl-fleetdoctor":     "kubectl-fleetdoctor",
		"bin/kubectl-fleetdoctor": "kubectl-fleetdoctor",
		"./kubectl-fleetdoctor":   "kubectl-fleetdoctor",
		"/usr/bin/fleetdoctor":    "fleetdoctor",
	} {
		if got := calledAs(arg0, path); got != want {
			t.Errorf("%s: %q, want %q", arg0, got, want)
		}
	}
}

// TestHelp checks that help shows the name by which the program was called.
func TestHelp(t *testing.T) {
	dir := t.TempDir()
	for arg0, name := range map[string]string{
		"kubectl-fleetdoctor":                     "kubectl-fleetdoctor",
		filepath.Join(dir, "kubectl-fleetdoctor"): "kubectl fleetdoctor",
	} {
		for _, args := range [][]string{{}, {"--help"}, {"audit", "--help"}, {"help", "audit"}, {"help"},
			{"help", "webhook", "status"}} {
			t.Setenv("PATH", dir)
			got := called(t, "", append([]string{arg0}, args...)...)
			if got.status != 0 || got.errOut != "" || !strings.Contains(got.out, "\n  "+name+" ") {
				t.Errorf("%s %v: status %d, %s%s", name, args, got.status, got.out, got.errOut)
			}
			other := "kubectl-fleetdoctor"
			if name == other {
				other = "kubectl fleetdoctor"
			}
			if strings.Contains(got.out, other+" ") {
				t.Errorf("%s %v: the help also contains %q:\n%s", name, args, other, got.out)
			}
		}
	}
	help := strings.Join(strings.Fields(run(t, "audit", "--help").out), " ") // lines can end at any word
	for _, s := range []string{"table, wide, json, yaml, name", "none|info|warning|error", "auto|always|never",
		"--snapshot", "--require-complete", "Exit status"} {
		if !strings.Contains(help, s) {
			t.Errorf("the help does not contain %q", s)
		}
	}
}

func TestVersion(t *testing.T) {
	got := run(t, "--version")
	if got.status != 0 || !strings.Contains(got.out, version) {
		t.Errorf("status %d: %s%s", got.status, got.out, got.errOut)
	}
}

// TestReleased checks the version of builds by the linker's flags, by go install, and by go build without the data of
// a commit.
func TestReleased(t *testing.T) {
	module := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	for _, tc := range []struct {
		linked string
		built  *debug.BuildInfo
		want   string
	}{
		{"v1.2.3", module("v9.9.9"), "v1.2.3"},
		{"dev", module("v1.2.3"), "v1.2.3"},
		{"", module("v1.2.3"), "v1.2.3"},
		{"dev", module("v0.0.0-20260102030405-0123456789ab+dirty"), "v0.0.0-20260102030405-0123456789ab+dirty"},
		{"dev", module("(devel)"), "dev"},
		{"dev", nil, "dev"},
	} {
		if got := released(tc.linked, tc.built); got != tc.want {
			t.Errorf("%q, %+v: %q, want %q", tc.linked, tc.built, got, tc.want)
		}
	}
}

// TestUsage checks that wrong usage has exit status 2, that the error names the wrong part, and that no report is
// printed.
func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name    string
		args    []string
		message []string
	}{
		{"an unknown verb", []string{"adopt-everything"},
			[]string{"adopt-everything", "See 'kubectl-fleetdoctor --help'"}},
		{"help for an unknown verb of a verb", []string{"help", "audit", "nope"}, []string{`unknown command "nope"`}},
		{"a mistyped verb", []string{"audi"}, []string{`unknown command "audi"`,
			`Did you mean "audit" or "auditor"?`}},
		{"a mistyped verb with flags", []string{"adutit", "--snapshot", sick}, []string{`unknown command "adutit"`,
			`Did you mean "audit"?`, "See 'kubectl-fleetdoctor --help'"}},
		{"a mistyped verb of the webhook with flags", []string{"webhook", "stauts", "--context", "x"},
			[]string{`unknown command "stauts"`, "Did you mean \"status\"?",
				"See 'kubectl-fleetdoctor webhook --help'"}},
		{"help on an unknown verb", []string{"help", "nope"}, []string{`unknown command "nope"`,
			"See 'kubectl-fleetdoctor --help'"}},
		{"help on a mistyped verb", []string{"help", "audi"}, []string{`unknown command "audi"`,
			`Did you mean "audit" or "auditor"?`}},
		{"help on an unknown verb of the webhook", []string{"help", "webhook", "nope"},
			[]string{`unknown command "nope"`}},
		{"completion for an unknown shell", []string{"completion", "tcsh"}, []string{`unknown command "tcsh"`,
			"See 'kubectl-fleetdoctor completion --help'"}},
		{"completion with an argument", []string{"completion", "bash", "x"}, []string{`unknown command "x"`}},
		{"an unknown flag", []string{"audit", "--nonsense"},
			[]string{"--nonsense", "kubectl-fleetdoctor audit --help"}},
		{"an unknown flag of the root", []string{"--nonsense"}, []string{"--nonsense"}},
		{"an unknown format", []string{"audit", "-o", "xml"}, []string{"--output", "table, wide, json, yaml, name"}},
		{"an unknown severity", []string{"audit", "--fail-on", "fatal"},
			[]string{"--fail-on", "none, info, warning, error"}},
		{"an unknown code", []string{"audit", "--snapshot", sick, "--code", "FD140"},
			[]string{"--code", `"FD140"`, "FD104"}},
		{"an unknown severity to show", []string{"audit", "--severity", "fatal"},
			[]string{"--severity", "info, warning, error"}},
		{"an unknown colour", []string{"audit", "--color=blue"}, []string{"--color", "auto, always, never"}},
		{"an unknown server check", []string{"audit", "--server-check=maybe"},
			[]string{"--server-check", "auto, always, never"}},
		{"not a boolean", []string{"audit", "--diff=perhaps"}, []string{"--diff"}},
		{"a flag without its value", []string{"audit", "--snapshot"}, []string{"--snapshot"}},
		{"a malformed selector", []string{"audit", "-l", "a in (", "--snapshot", sick}, []string{"selector", "a in ("}},
		{"an argument without kind", []string{"preflight", "guestbook", "--snapshot", sick},
			[]string{`"guestbook"`, "gitrepo", "bundledeployment"}},
		{"an unknown kind", []string{"preflight", "pod/frontend", "--snapshot", sick},
			[]string{`"pod/frontend"`, "gitrepo"}},
		{"a kind without name", []string{"audit", "gitrepo/", "--snapshot", sick}, []string{`"gitrepo/"`}},
		{"a kind without an argument for the name", []string{"why", "gitrepo", "--snapshot", sick},
			[]string{`"gitrepo"`}},
		{"a snapshot and a kubeconfig", []string{"audit", "--snapshot", sick, "--kubeconfig", "x"},
			[]string{"--snapshot", "--kubeconfig"}},
		{"a snapshot and a server", []string{"audit", "--snapshot", sick, "--server", "https://x"},
			[]string{"--snapshot", "--server"}},
		{"a snapshot and a user to act as", []string{"audit", "--snapshot", sick, "--as", "somebody"},
			[]string{"--snapshot", "--as"}},
		{"a malformed timeout", []string{"audit", "--request-timeout", "soon"}, []string{"--request-timeout", "soon",
			"See 'kubectl-fleetdoctor audit --help'"}},
		{"a flag of kubectl without effect", []string{"audit", "--cache-dir", "x"}, []string{"--cache-dir"}},
		{"a snapshot and a server check", []string{"audit", "--snapshot", sick, "--server-check=never"},
			[]string{"--snapshot", "--server-check"}},
		{"only the status, and fields that differ", []string{"audit", "--snapshot", sick, "--status-only", "--diff"},
			[]string{"--status-only", "--diff"}},
		{"values in full without a diff", []string{"audit", "--snapshot", sick, "--full"},
			[]string{"--full", "--diff"}},
		{"a scope that is not a namespace", []string{"audit", "--snapshot", sick, "--agent-scope=No"},
			[]string{"--agent-scope", `"No"`}},
		{"an empty snapshot", []string{"why", "bundle/x", "--snapshot", ""}, []string{"--snapshot is empty"}},
		{"a snapshot of a cluster that does not exist", []string{"audit", "--snapshot", sick, "--cluster-snapshot",
			"one=nope"}, []string{"--cluster-snapshot one=nope: "}},
		{"standard input twice", []string{"audit", "--snapshot", "-", "--snapshot", "-"},
			[]string{"--snapshot", "standard input"}},
		{"a malformed namespace", []string{"audit", "--snapshot", sick, "-n", "Fleet Local"},
			[]string{"--namespace", `"Fleet Local"`}},
		{"all namespaces and one", []string{"audit", "--snapshot", sick, "-A", "-n", "fleet-local"},
			[]string{"--namespace", "--all-namespaces"}},
		{"all namespaces and one of a verb that names objects", []string{"why", "bundle/x", "--snapshot", sick, "-A",
			"-n", "fleet-local"}, []string{"--namespace", "--all-namespaces"}},
		{"totals in another format", []string{"audit", "--snapshot", sick, "--summary", "-o", "json"},
			[]string{"--summary", "--output=json", "jsonpath={.summary}"}},
		{"totals and differences", []string{"audit", "--snapshot", sick, "--summary", "--diff"},
			[]string{"--summary", "--diff"}},
		{"a bundle without its kind", []string{"targets", "guestbook-guestbook", "--snapshot", sick},
			[]string{`"guestbook-guestbook"`, "it must be bundle/NAME"}},
		{"totals and everything", []string{"audit", "--snapshot", sick, "--summary", "--all"},
			[]string{"--summary", "--all"}},
		{"an order by a field that no row has", []string{"audit", "--snapshot", sick, "--sort-by", "{.nothing}"},
			[]string{"{.nothing}", "Fields: bundle, cluster"}},
		{"an order by an object", []string{"agents", "--snapshot", sick, "--sort-by", "heartbeat"},
			[]string{"heartbeat", "neither a number nor a text"}},
		{"a watch of a snapshot", []string{"audit", "--snapshot", sick, "--watch"}, []string{"--watch", "--snapshot"}},
		{"a watch in a format for programs", []string{"audit", "-w", "-o", "json"},
			[]string{"--watch", "--output=json"}},
		{"a watch without output", []string{"audit", "-w", "-q"}, []string{"--watch", "--quiet"}},
		{"a watch without a pause", []string{"audit", "-w", "--watch-interval=1s"}, []string{"--watch-interval=1s",
			"5s"}},
		{"an interval without a watch", []string{"audit", "--watch-interval=10s"},
			[]string{"--watch-interval", "--watch"}},
		{"a quiet unknown format", []string{"agents", "-q", "-o", "xml"}, []string{"--output"}},
		{"a snapshot and a token", []string{"audit", "--snapshot", sick, "--token", "x"},
			[]string{"--snapshot", "--token"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, tc.args...)
			if got.status != 2 || got.out != "" {
				t.Errorf("status %d, want 2; printed %q", got.status, got.out)
			}
			for _, s := range tc.message {
				if !strings.Contains(got.errOut, s) {
					t.Errorf("the error does not contain %q: %s", s, got.errOut)
				}
			}
		})
	}
}

// TestStatus checks the exit status of audit.
func TestStatus(t *testing.T) {
	// only the status of the deployment was captured: a gap and no finding
	dump := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(dump,
		[]byte(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"a",`+
			`"namespace":"b"},"status":{"release":"web/a:1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	info := filepath.Join(t.TempDir(), "paused.json") // only an informational finding
	if err := os.WriteFile(info,
		[]byte(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"BundleDeployment","metadata":{"name":"a",`+
			`"namespace":"b"},"spec":{"paused":true}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	withoutFleet := filepath.Join(t.TempDir(), "none.json")
	if err := os.WriteFile(withoutFleet,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const noResult, unread = "no bundle deployment has a result", "not everything was read: listing Bundle objects"
	cut := filepath.Join(t.TempDir(), "cut.json") // a gap beside complete objects
	if err := os.WriteFile(cut, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a`),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args    []string
		status  int
		message string // on standard error
	}{
		{[]string{"--snapshot", clean}, 0, ""},
		{[]string{"--snapshot", clean, "--require-complete", "--fail-on=info"}, 0, ""},
		{[]string{"--snapshot", sick}, 1, ""},
		{[]string{"--snapshot", sick, "--fail-on=error"}, 1, ""},
		{[]string{"--snapshot", sick, "--fail-on=info"}, 1, ""},
		{[]string{"--snapshot", sick, "--fail-on=none"}, 0, ""},
		{[]string{"--snapshot", sick, "--severity=error"}, 1, ""},
		{[]string{"--snapshot", sick, "--code=FD104", "--fail-on=error"}, 0, ""}, // the status of what is shown
		{[]string{"--snapshot", sick, "--code=FD108,FD111"}, 0, ""},
		{[]string{"--snapshot", dump, "--code=FD101"}, 3, noResult}, // a filter does not hide that nothing was read
		{[]string{"--snapshot", sick, "-l", "a=nothing-has-this"}, 3,
			`no bundle deployment matches: selector "a=nothing-has-this"`},
		{[]string{"--snapshot", sick, "--status-only", "--fail-on=error"}, 1, ""}, // Secrets in the status
		{[]string{"--snapshot", sick, "gitrepo/guestbook"}, 1, ""},
		{[]string{"--snapshot", sick, "gitrepo", "guestbook"}, 1, ""},
		{[]string{"--snapshot", sick, "GitRepos.fleet.cattle.io", "guestbook", "bd/ingress-ingress"}, 1, ""},
		{[]string{"--snapshot", sick, "bundle", "guestbook-guestbook", "ingress-ingress"}, 1, ""},
		{[]string{"--snapshot", sick, "--all-namespaces"}, 1, ""},
		{[]string{"--snapshot", sick, "gitrepo/guestbook", "-n", "elsewhere"}, 3,
			"namespace elsewhere has no objects " +
				"of Fleet; namespaces with objects of Fleet: fleet-local"},
		{[]string{"--snapshot", sick, "gitrepo/unknown"}, 3, "gitrepo/unknown"},
		{[]string{"--snapshot", dump}, 3, noResult},
		{[]string{"--snapshot", dump, "--fail-on=none"}, 3, noResult},
		{[]string{"--snapshot", dump, "--status-only"}, 3, unread},
		{[]string{"--snapshot", dump, "--status-only", "--fail-on=none"}, 0, ""},
		{[]string{"--snapshot", dump, "--require-complete"}, 3, noResult},
		{[]string{"--snapshot", clean, "--snapshot", cut, "--require-complete"}, 3, "the audit is not complete"},
		{[]string{"--snapshot", info}, 3, noResult},
		{[]string{"--snapshot", info, "--status-only"}, 3, unread},
		{[]string{"--snapshot", info, "--status-only", "--fail-on=info"}, 1, ""},
		{[]string{"--snapshot", withoutFleet}, 3, "no Fleet found here"},
		{[]string{"--snapshot", filepath.Join(t.TempDir(), "not-there")}, 3, "not-there"},
		{[]string{"--snapshot", t.TempDir()}, 3, "nothing in "},
		{[]string{"--snapshot", sick, "--snapshot", clean}, 1, ""}, // the same cluster at two times
		{[]string{"--context", "not-there"}, 3, "not-there"},
		{[]string{"--kubeconfig", filepath.Join(t.TempDir(), "not-there")}, 3, "not-there"},
		{[]string{"--print-rbac"}, 0, ""},
		{[]string{"--server", "https://[::1"}, 3, "https://[::1"},
		{[]string{"--server", "https://[::1", "--print-rbac"}, 0, ""},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			got := run(t, append([]string{"audit"}, tc.args...)...)
			if got.status != tc.status || !strings.Contains(got.errOut, tc.message) ||
				(tc.message == "") != (got.errOut == "") {
				t.Errorf("status %d, want %d and %q: %s", got.status, tc.status, tc.message, got.errOut)
			}
			reported := []string{noResult, unread, "the audit is not complete"}
			if (got.out == "") != (tc.status == 3 && !slices.Contains(reported, tc.message)) {
				t.Errorf("printed %q", got.out)
			}
		})
	}
}

// TestNoKubeconfig checks that every verb reports a KUBECONFIG without any existing file, and accepts one with some
// existing files. A kubeconfig without a current context is an error that names its contexts. No verb connects to
// localhost.
func TestNoKubeconfig(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	for _, verb := range [][]string{{"audit"}, {"adopt"}, {"owner", "deploy/a"}, {"agents"}, {"why", "bundle/a"},
		{"preflight"}, {"auditor", "status"}, {"webhook", "status"},
		{"webhook", "uninstall"}, {"webhook", "serve", "--cert-dir", t.TempDir()}} {
		t.Setenv("HOME", t.TempDir())
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		t.Setenv("KUBECONFIG", gone)
		got := calledIn(t.Context(), "", append([]string{"kubectl-fleetdoctor"}, verb...)...)
		if got.status != 3 || got.out != "" ||
			!strings.Contains(got.errOut, "looked in "+gone+" (does not exist), from KUBECONFIG") ||
			!strings.Contains(got.errOut, "--kubeconfig") {
			t.Errorf("%v: status %d: %s%s", verb, got.status, got.out, got.errOut)
		}
	}
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there,
		[]byte(`{"apiVersion":"v1","kind":"Config",`+
			`"clusters":[{"name":"a","cluster":{"server":"http://127.0.0.1:1"}}],`+
			`"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "without")
	if err := os.WriteFile(without,
		[]byte(`{"apiVersion":"v1","kind":"Config",`+
			`"clusters":[{"name":"a","cluster":{"server":"http://127.0.0.1:1"}}],`+
			`"contexts":[{"name":"b","context":{"cluster":"a"}},`+
			`{"name":"a","context":{"cluster":"a"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		variable string
		args     string
		want     string
	}{
		{gone + string(filepath.ListSeparator) + there, "audit", "http://127.0.0.1:1"},
		{without, "audit", "no current context: looked in " + without + ", from KUBECONFIG; contexts: a, b\n"},
		{without, "audit --context=a", "http://127.0.0.1:1"},
		{without, "owner deploy/a --cluster=a", "http://127.0.0.1:1"},
		{empty, "audit", "no kubeconfig with a context was found: looked in " + empty + ", from KUBECONFIG\n"},
		{there, "audit --kubeconfig=" + empty, "looked in " + empty + ", from --kubeconfig\n"},
		{"", "audit", "no kubeconfig with a context was found: looked in "},
		{"", "audit --server=http://127.0.0.1:1", "http://127.0.0.1:1"},
	} {
		t.Setenv("KUBECONFIG", tc.variable)
		got := calledIn(t.Context(), "", append([]string{"kubectl-fleetdoctor"}, strings.Fields(tc.args)...)...)
		if got.status != 3 || !strings.Contains(got.errOut, tc.want) || strings.Contains(got.errOut, "localhost") {
			t.Errorf("KUBECONFIG=%s, %s: status %d, want 3 and %q: %s", tc.variable, tc.args, got.status, tc.want,
				got.errOut)
		}
	}
}

// TestUnreachedOnce checks that a server that does not answer is reported once.
func TestUnreachedOnce(t *testing.T) {
	for _, args := range [][]string{{"webhook", "status"}, {"webhook", "status", "-o", "json"}, {"auditor", "status"},
		{"audit"}} {
		got := run(t, append(args, "--server", "http://127.0.0.1:1")...)
		if got.status != 3 || strings.Count(got.out+got.errOut, "connection refused") != 1 ||
			!strings.Contains(got.errOut, "current-context") {
			t.Errorf("%v: status %d: %s%s", args, got.status, got.out, got.errOut)
		}
	}
}

// TestPanic checks that a panic is a failure, and that its value, which can contain any data, is not shown.
func TestPanic(t *testing.T) {
	for name, test := range map[string]struct {
		run     func()
		message string
	}{
		"of the runtime": {func() { _ = make([]int, 1)[len(os.Args)] }, "index out of range"},
		"of a library":   {func() { _ = reflect.ValueOf(1).Len() }, "a panic with a *reflect.ValueError"},
	} {
		c := &cobra.Command{Use: "broken", SilenceErrors: true, SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { test.run(); return nil }}
		c.SetArgs(nil)
		_, err := execute(t.Context(), c)
		var e *cli.Error
		if !errors.As(err, &e) || e.Status != cli.ExitFailed || !strings.Contains(e.Error(), test.message) ||
			strings.Contains(e.Error()+e.Hint, "on int Value") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStdin checks that a snapshot can be read from a pipe.
func TestStdin(t *testing.T) {
	const list = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"fleet.cattle.io/v1alpha1",` +
		`"kind":"BundleDeployment","metadata":{"name":"piped","namespace":"b"}}]}`
	got := called(t, list, "kubectl-fleetdoctor", "audit", "--snapshot", "-", "-o", "name", "--status-only",
		"--fail-on=none")
	if got.status != 0 || got.out != "-n b bundledeployment.fleet.cattle.io/piped\n" {
		t.Errorf("status %d: %s%s", got.status, got.out, got.errOut)
	}
}

// TestColour checks the precedence for colours: the flag, then NO_COLOR, then the terminal.
func TestColour(t *testing.T) {
	for _, tc := range []struct {
		noColor, flag string
		want          bool
	}{
		{"", "auto", false}, // a buffer is not a terminal
		{"", "always", true},
		{"1", "always", true}, // the flag has precedence
		{"1", "auto", false},
		{"", "never", false},
	} {
		t.Setenv("NO_COLOR", tc.noColor)
		got := run(t, "audit", "--snapshot", sick, "--color="+tc.flag)
		if has := strings.Contains(got.out, "\x1b["); has != tc.want {
			t.Errorf("NO_COLOR=%s --color=%s: colours %v, want %v", tc.noColor, tc.flag, has, tc.want)
		}
	}
}

// TestInterrupted checks that an interrupted audit prints no part of a report.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := calledIn(ctx, "", "kubectl-fleetdoctor", "audit", "--snapshot", sick)
	if got.status != 3 || got.out != "" || !strings.Contains(got.errOut, "interrupted") {
		t.Errorf("status %d: %q, %q", got.status, got.out, got.errOut)
	}
}

// TestInterruptedLate checks that an interruption after the report was printed is not reported.
func TestInterruptedLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := interrupting{interrupt: cancel}
	var errOut bytes.Buffer
	status := Main(ctx, []string{"kubectl-fleetdoctor", "audit", "--snapshot", sick},
		cli.Environment{Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}})
	if status != 1 || out.Len() == 0 || errOut.Len() > 0 {
		t.Errorf("status %d: %q, %q", status, out.String(), errOut.String())
	}
}

// interrupting is a stream that interrupts the program after the first write.
type interrupting struct {
	bytes.Buffer
	interrupt func()
}

// Write implements io.Writer.
func (w *interrupting) Write(p []byte) (int, error) {
	defer w.interrupt()
	return w.Buffer.Write(p)
}

// TestCompletion checks the completion of flags with a fixed list of values.
func TestCompletion(t *testing.T) {
	for flag, words := range map[string]string{
		"--output": "table\nwide\njson\nyaml\nname\n", "--fail-on": "none\ninfo\nwarning\nerror\n",
		"--color": "auto\nalways\nnever\n", "--server-check": "auto\nalways\nnever\n",
	} {
		got := run(t, "__complete", "audit", flag, "")
		if got.status != 0 || !strings.HasPrefix(got.out, words) {
			t.Errorf("%s: status %d: %q, want %q", flag, got.status, got.out, words)
		}
	}
}

// TestCompleteTargets checks the completion of the kinds of targets, without a blank after the slash.
func TestCompleteTargets(t *testing.T) {
	got := run(t, "__complete", "audit", "")
	want := "gitrepo/\nhelmop/\nbundle/\ncluster/\nbundledeployment/\n"
	directive := fmt.Sprintf(":%d\n", cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)
	if got.status != 0 || got.out != want+directive {
		t.Errorf("status %d: %q, want %q", got.status, got.out, want+directive)
	}
}

// TestHelpFits checks that help fits a terminal of 100 columns.
func TestHelpFits(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"audit", "--help"}, {"adopt", "--help"}, {"owner", "--help"},
		{"agents", "--help"}, {"why", "--help"}, {"preflight", "--help"}, {"audit", "--snapshot", sick, "--print-rbac"},
		{"audit", "--print-rbac"}} {
		for line := range strings.Lines(run(t, args...).out) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > 100 && !strings.HasSuffix(line, " [flags]") { // the usage line
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
	}
}

// TestAgain checks that the same input gives the same bytes in every format.
func TestAgain(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		first := run(t, "audit", "--snapshot", sick, "-o", format, "--diff")
		for range 3 {
			if again := run(t, "audit", "--snapshot", sick, "-o", format, "--diff"); again != first {
				t.Errorf("-o %s differs from run to run", format)
			}
		}
	}
}

// TestSuggestedCommands checks that the commands in the findings of a snapshot read the same snapshot.
func TestSuggestedCommands(t *testing.T) {
	got := run(t, "audit", "--all", "--snapshot", sick)
	want := "kubectl fleetdoctor repair --snapshot " + sick + " bundle/guestbook-guestbook -n fleet-local --code=FD104"
	if !strings.Contains(got.out, want) {
		t.Fatalf("no %q in:\n%s", want, got.out)
	}
	again := called(t, "", strings.Fields(strings.Replace(want, "kubectl fleetdoctor", "kubectl-fleetdoctor", 1)+
		" --diff")...)
	if again.status != 1 || !strings.Contains(again.out, "\n-  replicas: 1\n") ||
		!strings.Contains(again.out, "\n+  replicas: 3\n") {
		t.Errorf("the suggested command has status %d: %s%s", again.status, again.out, again.errOut)
	}
}

// TestSuggestedCommandsOfStdin checks that no suggested command reads standard input: a pipe can be read only once.
func TestSuggestedCommandsOfStdin(t *testing.T) {
	var input strings.Builder // a stream of YAML documents
	files, err := filepath.Glob(filepath.Join(sick, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&input, "---\n%s\n", raw)
	}
	for _, verb := range []string{"audit", "adopt"} {
		got := called(t, input.String(), "kubectl-fleetdoctor", verb, "--snapshot", "-", "-o", "wide")
		if got.status != 1 || strings.Contains(got.out+got.errOut, "--snapshot -") {
			t.Errorf("%s: status %d: %s%s", verb, got.status, got.out, got.errOut)
		}
		if verb == "audit" && !strings.Contains(got.out,
			"repair --snapshot SAVED-INPUT bundle/guestbook-guestbook -n fleet-local --code=FD104") {
			t.Errorf("the output has no command with a placeholder:\n%s", got.out)
		}
	}
}
