// SPDX-License-Identifier: Apache-2.0

// Package docs_test runs the commands that the documentation shows.
package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const root = "../.."

// unreachable is the server of every context: nothing listens there.
const unreachable = "127.0.0.1:1"

// run is one call of the program.
type run struct {
	args           []string
	status         int
	stdout, stderr string
}

// live says that the program would have needed a cluster.
func (r run) live() bool {
	return r.status == cli.ExitFailed && strings.Contains(r.stdout+r.stderr, unreachable)
}

// partial says that the program printed a report that states what could not be read.
func (r run) partial() bool { return r.status == cli.ExitFailed && r.stdout != "" && r.stderr == "" }

// TestCommands runs each command of the documentation in this process, in a directory with the files that the pages
// name. A command that reads a snapshot must print what its transcript shows. A command that needs a cluster must get
// as far as the connection: its flags and arguments are right.
func TestCommands(t *testing.T) {
	total := 0
	work := map[string][]block{}
	for _, page := range pages(t) {
		work[page] = read(t, page)
	}
	dir := directory(t)
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			t.Chdir(dir)
			standIn(t, page)
			for _, b := range work[page] {
				for _, s := range b.steps {
					total += check(t, page, b, s)
				}
			}
		})
	}
	if total < 100 {
		t.Errorf("found only %d commands: are they in blocks that this test reads?", total)
	}
}

// check runs a step of a block and returns the number of calls of the program.
func check(t *testing.T, page string, b block, s step) int {
	t.Helper()
	place := fmt.Sprintf("%s:%d", page, b.line)
	runs, err := execute(t, s.script)
	if err != nil {
		t.Errorf("%s: %v\n%s", place, err, s.script)
	}
	for _, r := range runs {
		if r.status != cli.ExitOK && r.status != cli.ExitFound && !r.live() && !r.partial() {
			t.Errorf("%s: status %d of %s\n%s", place, r.status, strings.Join(r.args, " "), r.stderr)
		}
	}
	if s.transcript && len(runs) == 1 && runs[0].live() && strings.TrimSpace(s.output) != "" && !b.live {
		t.Errorf("%s: the output of a command for a cluster, which nothing checks: %s", place, s.script)
	}
	if s.transcript && len(runs) == 1 && !runs[0].live() {
		if printed := runs[0].stdout + runs[0].stderr; !matches(s.output, printed) {
			t.Errorf("%s: %s prints\n%s\nthe page shows\n%s", place, s.script, printed, s.output)
		}
	}
	return len(runs)
}

// execute interprets a script with parameters. Every other program than this one and yq reads its input, prints nothing
// and succeeds: the pages also show kubectl, git and such.
func execute(t *testing.T, script string, parameters ...string) ([]run, error) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	var runs []run
	handler := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(ctx context.Context, words []string) error {
			streams := interp.HandlerCtx(ctx)
			args, ours := called(words)
			if !ours {
				if words[0] == "yq" { // the field of a plan
					_, err := io.WriteString(streams.Stdout, strings.Repeat("0", 64))
					return err
				}
				_, err := io.Copy(io.Discard, streams.Stdin)
				return err
			}
			r := start(ctx, args, streams.Stdin)
			runs = append(runs, r)
			if _, err := io.WriteString(streams.Stdout, r.stdout); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				return err
			}
			return nil // the commands after a "&&" run too
		}
	}
	shell, err := interp.New(interp.ExecHandlers(handler), interp.OpenHandler(open), interp.StdIO(strings.NewReader(""),
		io.Discard, io.Discard), interp.Params(append([]string{"--"}, parameters...)...))
	if err != nil {
		return nil, err
	}
	err = shell.Run(t.Context(), file)
	return runs, err
}

// called returns the arguments of a call of this program.
func called(args []string) ([]string, bool) {
	switch {
	case len(args) > 1 && args[0] == "kubectl" && args[1] == "fleetdoctor":
		return args[2:], true
	case filepath.Base(args[0]) == "kubectl-fleetdoctor":
		return args[1:], true
	}
	return nil, false
}

// start runs the program. "webhook serve" and "auditor serve" run until they are interrupted, so only their command
// lines are checked.
func start(ctx context.Context, args []string, in io.Reader) run {
	var out, errOut bytes.Buffer
	if in == nil {
		in = strings.NewReader("")
	}
	// as a release: "webhook install" refuses others
	env := cli.Environment{Streams: genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errOut}, Version: "v1.0.0"}
	r := run{args: args}
	if len(args) > 1 && args[1] == "serve" {
		c, flags, err := cmd.New("kubectl-fleetdoctor", env).Find(args)
		if err == nil {
			err = c.ParseFlags(flags)
		}
		if err != nil {
			r.status, r.stderr = cli.ExitUsage, err.Error()
		}
		return r
	}
	r.status = cmd.Main(ctx, slices.Concat([]string{"kubectl-fleetdoctor"}, args), env)
	r.stdout, r.stderr = out.String(), errOut.String()
	return r
}

// open opens a file of a redirection. A file that exists is the output that a command would have, if it could reach
// a cluster. It is not overwritten.
func open(_ context.Context, path string, flag int, mode os.FileMode) (io.ReadWriteCloser, error) {
	if flag&os.O_WRONLY == 0 {
		return os.Open(path)
	}
	if _, err := os.Stat(path); err == nil {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.OpenFile(path, flag, mode)
}

// directory returns a directory with the files that the pages name. It is the home of the user, and kubectl's
// configuration.
func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	sample := top + "/test/testdata/sick"
	for name, target := range map[string]string{
		"test": filepath.Join(top, "test"), "docs": filepath.Join(top, "docs"), "manifests": filepath.Join(top,
			"manifests"),
		"before.tgz": sample, "after.tgz": top + "/test/testdata/clean",
		"management.tgz": top + "/test/testdata/impact/management.yaml", "edge-1.tgz": top +
			"/test/testdata/impact/edge-1.yaml",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if r := start(t.Context(), []string{"snapshot", "--snapshot", top + "/test/testdata/clean", "-o",
		filepath.Join(dir, "edge-1.tar.gz")}, nil); r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	report := start(t.Context(), []string{"audit", "--snapshot", sample, "-o", "json"}, nil)
	var contexts strings.Builder
	for _, name := range []string{"dev", "edge-1", "edge-2"} {
		fmt.Fprintf(&contexts, "- {name: %s, context: {cluster: c, user: u}}\n", name)
	}
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: dev\nclusters:\n- {name: c, cluster: {server: " +
		"\"https://" + unreachable +
		"\"}}\nusers:\n- {name: u, user: {token: invented}}\ncontexts:\n" + contexts.String()
	for name, text := range map[string]string{
		"config": kubeconfig, "edge-1.yaml": kubeconfig, "edge-2.yaml": kubeconfig, "before.json": report.stdout,
		"last-night.json":           report.stdout,
		"token":                     "invented",
		"apps/guestbook/fleet.yaml": "defaultNamespace: guestbook\n",
		"apps/guestbook/map.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theme}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fleetdoctor-adopt-20260102-030405.jsonl",
		"fleetdoctor-repair-20260102-030405.jsonl", "receipt.jsonl"} {
		receipt, err := repair.CreateReceipt(filepath.Join(dir, name), repair.Header{ClusterUID: "invented"}, nil,
			nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(dir, "summary"))
	t.Setenv("KUBECONFIG", filepath.Join(dir, "config"))
	t.Setenv("HOME", dir)
	return dir
}

// standIn writes dump.tgz: the capture from which the transcripts of a page are made.
func standIn(t *testing.T, page string) {
	t.Helper()
	switch page {
	case "docs/verbs/agents.md":
		capture(t, "cases/agents-mixed.yaml")
	case "docs/verbs/owner.md":
		capture(t, "cases/manifest-forms.yaml")
	case "docs/verbs/targets.md": // ClusterGroups decide there: they were captured, and there are none
		capture(t, "why/management.yaml", map[string]any{"apiVersion": "fleet.cattle.io/v1alpha1",
			"kind": "ClusterGroupList", "metadata": map[string]any{}, "items": []any{}})
	default:
		capture(t, "why/management.yaml")
	}
}

// capture writes dump.tgz: the objects of a case, and others.
func capture(t *testing.T, name string, others ...map[string]any) {
	t.Helper()
	var head map[string]any
	c, err := cases.Read("test/testdata/"+name, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(nil); err != nil {
		t.Fatal(err)
	}
	c.Documents = append(c.Documents, others...)
	stream, err := c.Stream()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("dump.tgz", raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
