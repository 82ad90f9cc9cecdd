// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestSnapshot checks the file that the verb writes, and that it leaves none if it fails.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.tar.gz")
	r := run(t, "snapshot", "--snapshot", sick, "-o", file)
	info, err := os.Stat(file)
	if r.status != cli.ExitOK || r.out != "" || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("status %d, error %v, %+v\n%s", r.status, err, info, r.errOut)
	}
	if !strings.Contains(r.errOut, file) {
		t.Errorf("the message does not name the file: %s", r.errOut)
	}
	if got := run(t, "audit", "--snapshot", file); got.status != run(t, "audit", "--snapshot", sick).status {
		t.Errorf("an audit of the snapshot: status %d\n%s", got.status, got.errOut)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, "snapshot", "--snapshot", sick, "-o", "-"); r.status != cli.ExitOK || len(r.out) < len(whole)/2 {
		t.Errorf("standard output has %d bytes, status %d: %s", len(r.out), r.status, r.errOut)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, r := range map[string]result{
		"interrupted": calledIn(ended, "", "kubectl-fleetdoctor", "snapshot", "--snapshot", sick, "-o",
			filepath.Join(dir, "a.tar.gz")),
		"not complete": run(t, "snapshot", "--snapshot", damaged(t), "--require-complete", "-o",
			filepath.Join(dir, "b.tar.gz")),
		"no Secrets": run(t, "snapshot", "--snapshot", withoutSecrets(t), "--require-complete", "-o",
			filepath.Join(dir, "b.tar.gz")),
		"no Fleet":          run(t, "snapshot", "--snapshot", noFleet(t), "-o", filepath.Join(dir, "c.tar.gz")),
		"no such directory": run(t, "snapshot", "--snapshot", sick, "-o", filepath.Join(dir, "none", "d.tar.gz")),
	} {
		if r.status != cli.ExitFailed || r.errOut == "" {
			t.Errorf("%s: status %d: %s", name, r.status, r.errOut)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".*partial")); err != nil || len(left) != 1 || len(hidden) > 0 {
		t.Errorf("left are %q and %q, error %v", left, hidden, err)
	}
	for _, args := range [][]string{{"-o", "-", "--require-complete"}, {"-o", os.DevNull, "--require-complete"},
		{"-o", dir}, {"an-argument"}} {
		if r := run(t, append([]string{"snapshot", "--snapshot", sick}, args...)...); r.status != cli.ExitUsage {
			t.Errorf("%q: status %d: %s", args, r.status, r.errOut)
		}
	}
}

// TestSnapshotWithoutSecrets checks that the user reads which values are not masked, and that an audit of the snapshot
// ends as one of the capture.
func TestSnapshotWithoutSecrets(t *testing.T) {
	capture, file := withoutSecrets(t), filepath.Join(t.TempDir(), "s.tar.gz")
	if r := run(t, "snapshot", "--snapshot", capture, "-o", file); r.status != cli.ExitOK ||
		!strings.Contains(r.errOut, "gap: listing secrets: NotInSnapshot: ") ||
		!strings.Contains(r.errOut, "are not masked in other objects") {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
	if want, got := run(t, "audit", "--snapshot", capture), run(t, "audit", "--snapshot",
		file); got.status != want.status {
		t.Errorf("an audit of the snapshot: status %d, of the capture %d", got.status, want.status)
	}
}

// TestSnapshotReplaces checks what happens to a file that exists.
func TestSnapshotReplaces(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "s.tar.gz"), filepath.Join(dir, "link.tar.gz")
	write(t, file, "earlier")
	if err := os.Symlink("s.tar.gz", link); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "snapshot", "--snapshot", damaged(t), "--require-complete", "-o", link); r.status != cli.ExitFailed {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
	if kept, err := os.ReadFile(file); string(kept) != "earlier" {
		t.Errorf("a failed command left a file of %d bytes, error %v", len(kept), err)
	}
	if r := run(t, "snapshot", "--snapshot", sick, "-o", link); r.status != cli.ExitOK {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
	if target, err := os.Readlink(link); target != "s.tar.gz" {
		t.Errorf("the link leads to %q: %v", target, err)
	}
	if r := run(t, "audit", "--snapshot", file); r.status == cli.ExitFailed {
		t.Errorf("the file was not replaced: %s", r.errOut)
	}
	if r := run(t, "snapshot", "--snapshot", sick, "-o", os.DevNull); r.status != cli.ExitOK {
		t.Errorf("a device: status %d: %s", r.status, r.errOut)
	}
	dangling := filepath.Join(dir, "dangling.tar.gz")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "snapshot", "--snapshot", sick, "-o", dangling); r.status != cli.ExitUsage ||
		!strings.Contains(r.errOut, dangling) {
		t.Errorf("a link to no file: status %d: %s", r.status, r.errOut)
	}
	if target, err := os.Readlink(dangling); target != "nowhere" {
		t.Errorf("a link to no file leads to %q: %v", target, err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device became a file: %v, error %v", info.Mode(), err)
	}
}

// TestSnapshotToSocket checks the error of a stream that cannot be written.
func TestSnapshotToSocket(t *testing.T) {
	capture, err := filepath.Abs(sick)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // the path of a socket must be short
	l, err := net.Listen("unix", "s.sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if r := run(t, "snapshot", "--snapshot", capture, "-o", "s.sock"); r.status != cli.ExitFailed ||
		!strings.HasPrefix(r.errOut, "error: writing s.sock: ") || !strings.Contains(r.errOut, "-o FILE") {
		t.Errorf("status %d: %s", r.status, r.errOut)
	}
}

// TestSnapshotNamedAsFormat checks that -o is not taken for the name of a file if it is the output format of another
// verb.
func TestSnapshotNamedAsFormat(t *testing.T) {
	capture, err := filepath.Abs(sick)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"json", "yaml", "table", "wide", "name", "html", "sarif", "markdown",
		"jsonpath={.a}"} {
		if r := run(t, "snapshot", "--snapshot", capture, "-o", name); r.status != cli.ExitUsage ||
			!strings.Contains(r.errOut, "-o ./"+name) {
			t.Errorf("%s: status %d: %s", name, r.status, r.errOut)
		}
	}
	for _, name := range []string{"./json", "json.tar.gz"} {
		if r := run(t, "snapshot", "--snapshot", capture, "-o", name); r.status != cli.ExitOK {
			t.Errorf("%s: status %d: %s", name, r.status, r.errOut)
		}
	}
}

// damaged is a copy of a capture with a file that cannot be read.
func damaged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(sick)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "broken.json"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":`)
	return dir
}

// withoutSecrets is a copy of a capture without its Secrets.
func withoutSecrets(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(sick)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "secrets.json")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// noFleet is a capture without Fleet.
func noFleet(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "one.yaml")
	write(t, file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPartialObjects checks that what a snapshot leaves out is never taken for absent: without --with-bundles, it has
// only the metadata of an object that no bundle desires, and no files of bundles.
func TestPartialObjects(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"fleet.yaml": "defaultNamespace: default\nhelm: {takeOwnership: true}\n",
		"object.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt}\ndata: {x: 'y'}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	less, more := filepath.Join(t.TempDir(), "less.tar.gz"), filepath.Join(t.TempDir(), "more.tar.gz")
	if r := run(t, "snapshot", "--snapshot", sick, "-o", less); r.status != cli.ExitOK ||
		strings.Contains(r.errOut, "passwords") {
		t.Fatalf("status %d: %s", r.status, r.errOut)
	}
	if r := run(t, "snapshot", "--snapshot", sick, "--with-bundles", "-o", more); r.status != cli.ExitOK ||
		!strings.Contains(r.errOut, "warning: it has the files and Helm values of bundles") {
		t.Fatalf("status %d: %s", r.status, r.errOut)
	}
	for _, tc := range []struct {
		args       []string
		less, more int
		why        string
	}{
		{[]string{"preflight", "-f", dir, "--gitrepo=x", "--path=app"}, cli.ExitFailed, cli.ExitOK,
			"could not be read: NotInSnapshot: only its metadata was captured"},
		{[]string{"adopt", "-f", dir, "--gitrepo=x", "--path=app"}, cli.ExitFailed, cli.ExitFound,
			"For others, read the cluster."},
		{[]string{"audit", "--desired=bundle"}, cli.ExitFailed, cli.ExitFound,
			"its files are not in the snapshot: snapshot --with-bundles captures them"},
	} {
		r := run(t, append(tc.args, "--snapshot", less)...)
		if text := strings.Join(strings.Fields(r.out+r.errOut), " "); r.status != tc.less ||
			!strings.Contains(text, tc.why) {
			t.Errorf("%q without bundles: status %d\n%s\n%s", tc.args, r.status, r.out, r.errOut)
		}
		if r := run(t, append(tc.args, "--snapshot", more)...); r.status != tc.more {
			t.Errorf("%q with bundles: status %d\n%s\n%s", tc.args, r.status, r.out, r.errOut)
		}
	}
}

// TestCommandsOfSnapshot checks that a command of kubectl or Helm for a snapshot names the context of --context, and is
// not ready to run without it.
func TestCommandsOfSnapshot(t *testing.T) {
	const placeholder = "context=<|captured cluster|> "
	for _, args := range [][]string{{"audit", "-o", "wide"}, {"audit", "-o", "json"}, {"audit", "-o", "yaml"}} {
		args = append(args, "--snapshot", sick)
		without, with := run(t, args...), run(t, append(args, "--context", "prod")...)
		if !strings.Contains(without.out, placeholder) || with.out == "" ||
			strings.Contains(with.out, "captured cluster") {
			t.Errorf("%q:\n%s\nwith --context:\n%s%s", args, without.out, with.out, with.errOut)
		}
		for context, out := range map[string]string{placeholder: without.out, "context prod ": with.out} {
			for _, program := range []string{"kubectl -", "helm -"} {
				for _, command := range strings.Split(out, program)[1:] {
					if !strings.HasPrefix(strings.TrimPrefix(command, "-kube"), "-"+context) {
						t.Errorf("%q prints %s%.60s", args, program, command)
					}
				}
			}
		}
	}
}
