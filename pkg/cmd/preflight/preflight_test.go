// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// capture writes the objects of a case file as a snapshot, and returns its path.
func capture(t *testing.T, name string) string {
	t.Helper()
	var head map[string]any
	c, err := cases.Read("../../../test/testdata/preflights/"+name+".yaml", &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(nil); err != nil {
		t.Fatal(err)
	}
	in, err := c.Stream()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "capture.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder returns the directory of a bundle that desires an object of the case install.
func folder(t *testing.T, bundle string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"fleet.yaml": "name: " + bundle + "\ndefaultNamespace: web\n",
		"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unmarked}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// counts prints the summary.
const counts = "-o=jsonpath=ok {.summary.ok}, contested {.summary.contested}, refused {.summary.refused}, unknown " +
	"{.summary.unknown}"

// TestStatus checks the exit status, what is printed, and the suggested commands.
func TestStatus(t *testing.T) {
	dir, other := folder(t, "guestbook"), folder(t, "tools")
	install, refused := capture(t, "install"), capture(t, "refused")
	for _, tc := range []struct {
		args   []string
		status int
		text   string // a part of the output or of the error
	}{
		{[]string{"--snapshot", install, "bundledeployment/taker", counts}, cli.ExitOK,
			"ok 1, contested 0, refused 0, unknown 0"},
		{[]string{"--snapshot", install, "bundle/guestbook", "-n", "fleet-local"}, cli.ExitFound, "adopt --snapshot " +
			install + " bundle/guestbook -n fleet-local"},
		{[]string{"--snapshot", install, counts}, cli.ExitFound, "ok 1, contested 0, refused 1, unknown 1"},
		{[]string{"--snapshot", refused, "bundledeployment/helmop", counts}, cli.ExitFailed,
			"ok 0, contested 0, refused 0, unknown 1"},
		{[]string{"--snapshot", refused, "bundledeployment/elsewhere"}, cli.ExitFailed,
			"nothing in scope is deployed to this cluster"},
		{[]string{"--snapshot", install, "-f", dir}, cli.ExitFound, "adopt --snapshot " + install + " -f " + dir},
		{[]string{"--snapshot", install, "-f", other}, cli.ExitFound,
			"bundle deployment cluster-one/guestbook desires configmap web/unmarked too"},
		{[]string{"--snapshot", install, "-f", dir, "bundle/guestbook"}, cli.ExitUsage, "-f and"},
		{[]string{"--snapshot", install, "-f", dir, "-n", "fleet-local"}, cli.ExitUsage, "-f and"},
		{[]string{"--snapshot", install, "--gitrepo", "apps"}, cli.ExitUsage, "--gitrepo"},
		{[]string{"--snapshot", install, "pod/a"}, cli.ExitUsage, "KIND/NAME"},
		{[]string{"--snapshot", install, "--server", "prod"}, cli.ExitUsage, "--server"},
		{[]string{"--snapshot", install, "bundle/absent"}, cli.ExitFailed, "not found"},
		{[]string{"--snapshot", install, "-f", filepath.Join(dir, "absent")}, cli.ExitFailed,
			"opening bundle directory"},
	} {
		var out bytes.Buffer
		c := NewCommand(cli.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out,
			ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(tc.args)
		err := c.ExecuteContext(t.Context())
		printed := out.String()
		if err != nil {
			printed += err.Error()
		}
		if cli.ExitStatus(err) != tc.status || !strings.Contains(printed, tc.text) {
			t.Errorf("%q: status %d, want %d and %q: %s", tc.args[2:], cli.ExitStatus(err), tc.status, tc.text, printed)
		}
	}
}
