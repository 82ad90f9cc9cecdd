// SPDX-License-Identifier: Apache-2.0

//go:build unix

package output

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var (
	frontend = object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "frontend"}
	smtp     = object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "smtp"}
	role     = object.Ref{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "system:../x"}
	replicas = report.Difference{Path: ".spec.replicas", Steps: []report.Step{{Name: "spec"}, {Name: "replicas"}},
		Desired: evaluate.Plain(int64(1)), Live: evaluate.Plain(int64(3))}
	password = report.Difference{Path: ".data.password", Steps: []report.Step{{Name: "data"}, {Name: "password"}},
		Desired: evaluate.Secret("aW52ZW50ZWQ="), Live: evaluate.Masked("***2")}
)

// result is what Run did.
type result struct {
	err         error
	out, errOut string
}

// runs runs a program with arguments for some objects.
func runs(ctx context.Context, t *testing.T, command string, objects ...modified) result {
	t.Helper()
	t.Setenv(variable, command)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	f := &DiffFlags{diff: true}
	var o printers.Options
	f.Set(&o, true)
	for _, m := range objects {
		o.ExternalDiff(m.cluster, m.ref, m.differences)
	}
	var out, errOut bytes.Buffer
	err := f.Run(ctx, cli.Environment{Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}})
	left, readErr := os.ReadDir(temporary)
	if readErr != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, readErr)
	}
	return result{err, strings.ReplaceAll(out.String(), temporary, "TMP"), errOut.String()}
}

// program writes a script.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFiles checks the files that a program gets, and that only the user can read them.
func TestFiles(t *testing.T) {
	script := `cd "$1/.." || exit 9; ls -ld . * | cut -c1-10; ls -l bundle cluster | cut -c1-10 | sort -u; ` +
		`for f in */*; do echo "== $f"; cat "$f"; done`
	got := runs(t.Context(), t, program(t, script), modified{ref: frontend, differences: []report.Difference{replicas}},
		modified{ref: smtp, differences: []report.Difference{password}}, modified{ref: frontend,
			differences: []report.Difference{replicas}}, modified{ref: role,
			differences: []report.Difference{replicas}})
	if got.err != nil || got.errOut != "" {
		t.Errorf("error %v, printed %s", got.err, got.errOut)
	}
	object := func(apiVersion, kind, metadata, rest string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n" + metadata + rest + "\n"
	}
	var want strings.Builder
	want.WriteString("drwx------\ndrwx------\ndrwx------\n\n-rw-------\nbundle:\ncluster:\ntotal N\n")
	for _, side := range []struct{ name, replicas, password string }{{"bundle", "1", "***"}, {"cluster", "3", "***2"}} {
		deployment := object("apps/v1", "Deployment", "  name: frontend\n  namespace: web\n",
			"spec:\n  replicas: "+side.replicas)
		for _, f := range []struct{ name, content string }{
			{"apps.v1.Deployment.web.frontend", deployment},
			{"apps.v1.Deployment.web.frontend-2", deployment},
			{"rbac.authorization.k8s.io.v1.ClusterRole..system_.._x", object("rbac.authorization.k8s.io/v1",
				"ClusterRole", "  name: system:../x\n", "spec:\n  replicas: "+side.replicas)},
			{"v1.Secret.web.smtp", object("v1", "Secret", "  name: smtp\n  namespace: web\n",
				`data:`+"\n"+`  password: "`+side.password+`"`)},
		} {
			fmt.Fprintf(&want, "== %s/%s\n%s", side.name, f.name, f.content)
		}
	}
	out := got.out
	if begin := strings.Index(out, "total "); begin >= 0 { // the number depends on the file system
		end := begin + strings.Index(out[begin:], "\n")
		out = out[:begin] + "total N" + out[end:]
	}
	if diff := cmp.Diff(want.String(), out); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestClusters checks that the names of files have the cluster if there are several.
func TestClusters(t *testing.T) {
	diffs := []report.Difference{replicas}
	got := runs(t.Context(), t, program(t, `ls "$1"`), modified{"fleet-default/one", frontend, diffs},
		modified{"fleet-default/two", frontend, diffs}, modified{"", frontend, diffs})
	want := "fleet-default_one.apps.v1.Deployment.web.frontend\n" +
		"fleet-default_two.apps.v1.Deployment.web.frontend\n" +
		"unknown.apps.v1.Deployment.web.frontend\n"
	if got.err != nil || got.out != want {
		t.Errorf("error %v, files\n%s", got.err, got.out)
	}
}

// TestArguments checks that the arguments of the variable come after the directories, and which of them are ignored.
func TestArguments(t *testing.T) {
	o := modified{ref: frontend, differences: []report.Difference{replicas}}
	got := runs(t.Context(), t, program(t, `shift 2; echo "$# $*"`)+"  -u --context=5 -I$(x) ; /etc/passwd", o)
	if got.err != nil || got.out != "2 -u --context=5\n" {
		t.Errorf("error %v, arguments %q", got.err, got.out)
	}
	for _, ignored := range []string{`"-I$(x)"`, `";"`, `"/etc/passwd"`} {
		if !strings.Contains(got.errOut, variable+": the argument "+ignored+" is ignored") {
			t.Errorf("%s is not mentioned: %s", ignored, got.errOut)
		}
	}
}

// TestStatus checks the exit status: 0 and 1 are those of a comparison, others are failures.
func TestStatus(t *testing.T) {
	o := modified{ref: frontend, differences: []report.Difference{replicas}}
	for script, want := range map[string]int{"exit 0": cli.ExitOK, "exit 1": cli.ExitOK, "exit 2": cli.ExitFailed,
		"kill -9 $$": cli.ExitFailed} {
		if got := runs(t.Context(), t, program(t, script), o); cli.ExitStatus(got.err) != want {
			t.Errorf("%s: %v, want status %d", script, got.err, want)
		}
	}
	got := runs(t.Context(), t, "not-there --flag", o)
	if cli.ExitStatus(got.err) != cli.ExitFailed || !strings.Contains(got.err.Error(), `"not-there"`) ||
		!strings.Contains(got.err.Error(), variable) {
		t.Errorf("a program that is not there: %v", got.err)
	}
	if got := runs(t.Context(), t, "not-there"); got.err != nil {
		t.Errorf("without a difference: %v", got.err)
	}
}

// TestNotSelected checks when the program is not started.
func TestNotSelected(t *testing.T) {
	for name, tc := range map[string]struct {
		diff, forPeople bool
		command         string
	}{"without --diff": {false, true, "x"}, "a format for programs": {true, false, "x"}, "without the variable": {true,
		true, ""}} {
		t.Setenv(variable, tc.command)
		f := &DiffFlags{diff: tc.diff}
		var o printers.Options
		if f.Set(&o, tc.forPeople); o.ExternalDiff != nil || o.Diff != tc.diff {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestInterruption checks that an interruption ends the program and removes its files.
func TestInterruption(t *testing.T) {
	dir := t.TempDir()
	started, never := filepath.Join(dir, "started"), filepath.Join(dir, "never")
	for _, path := range []string{started, never} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = os.ReadFile(started) // returns when the program has written
	}()
	got := runs(ctx, t, program(t, fmt.Sprintf("echo > %s; read -r line < %s", started, never)),
		modified{ref: frontend, differences: []report.Difference{replicas}})
	if cli.ExitStatus(got.err) != cli.ExitFailed || got.errOut != "interrupted: the output may be incomplete\n" {
		t.Errorf("error %v, printed %q", got.err, got.errOut)
	}
}
