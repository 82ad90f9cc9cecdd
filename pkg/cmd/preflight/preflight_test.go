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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
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
		{[]string{"--snapshot", install, "bundledeployment/taker", counts}, exit.OK,
			"ok 1, contested 0, refused 0, unknown 0"},
		{[]string{"--snapshot", install, "bundle/guestbook", "-n", "fleet-local"}, exit.Found, "adopt --snapshot " +
			install + " bundle/guestbook -n fleet-local"},
		{[]string{"--snapshot", install, counts}, exit.Found, "ok 1, contested 0, refused 1, unknown 1"},
		{[]string{"--snapshot", refused, "bundledeployment/helmop", counts}, exit.Failed,
			"ok 0, contested 0, refused 0, unknown 1"},
		{[]string{"--snapshot", refused, "bundledeployment/elsewhere"}, exit.Failed,
			"nothing in scope is deployed to this cluster"},
		{[]string{"--snapshot", install, "-f", dir}, exit.Found, "adopt --snapshot " + install + " -f " + dir},
		{[]string{"--snapshot", install, "-f", other}, exit.Found,
			"bundle deployment cluster-one/guestbook desires configmap web/unmarked too"},
		{[]string{"--snapshot", install, "-f", dir, "bundle/guestbook"}, exit.Usage, "-f and"},
		{[]string{"--snapshot", install, "-f", dir, "-n", "fleet-local"}, exit.Usage, "-f and"},
		{[]string{"--snapshot", install, "--gitrepo", "apps"}, exit.Usage, "--gitrepo"},
		{[]string{"--snapshot", install, "pod/a"}, exit.Usage, "KIND/NAME"},
		{[]string{"--snapshot", install, "--server", "prod"}, exit.Usage, "--server"},
		{[]string{"--snapshot", install, "bundle/absent"}, exit.Failed, "not found"},
		{[]string{"--snapshot", install, "-f", filepath.Join(dir, "absent")}, exit.Failed, "opening bundle directory"},
	} {
		var out bytes.Buffer
		c := NewCommand(verb.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out,
			ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(tc.args)
		err := c.ExecuteContext(t.Context())
		printed := out.String()
		if err != nil {
			printed += err.Error()
		}
		if exit.Status(err) != tc.status || !strings.Contains(printed, tc.text) {
			t.Errorf("%q: status %d, want %d and %q: %s", tc.args[2:], exit.Status(err), tc.status, tc.text, printed)
		}
	}
}
