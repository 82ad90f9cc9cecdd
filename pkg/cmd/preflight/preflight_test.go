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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/origin"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// capture writes what a case file holds as a snapshot and returns its path.
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

// folder is the directory of a bundle of that name, which wants an object of the case install.
func folder(t *testing.T, bundle string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"fleet.yaml": "name: " + bundle + "\ndefaultNamespace: web\n", "cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unmarked}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestStatus holds what the verb ends with, what it prints, and how it leads on.
func TestStatus(t *testing.T) {
	dir, rival := folder(t, "guestbook"), folder(t, "tools")
	install, refused := capture(t, "install"), capture(t, "refused")
	for _, tc := range []struct {
		args   []string
		status int
		says   string // in what is printed, or in the error
	}{
		{[]string{"--snapshot", install, "bundledeployment/taker"}, exit.OK, "1 bundle deployment: 1 clear to go."},
		{[]string{"--snapshot", install, "bundle/guestbook", "-n", "fleet-local"}, exit.Found, "adopt --snapshot " + install + " bundle/guestbook -n fleet-local"},
		{[]string{"--snapshot", install}, exit.Found, "3 bundle deployments: 1 would be refused, 1 not known, 1 clear to go."},
		{[]string{"--snapshot", refused, "bundledeployment/helmop"}, exit.Failed, "1 not known"},
		{[]string{"--snapshot", refused, "bundledeployment/elsewhere"}, exit.Failed, "nothing in scope is deployed to this cluster"},
		{[]string{"--snapshot", install, "-f", dir}, exit.Found, "adopt --snapshot " + install + " -f " + dir},
		{[]string{"--snapshot", install, "-f", rival}, exit.Found, "bundle deployment cluster-one/guestbook desires configmap web/unmarked too"},
		{[]string{"--snapshot", install, "-f", dir, "bundle/guestbook"}, exit.Usage, "the directory is the scope"},
		{[]string{"--snapshot", install, "-f", dir, "-n", "fleet-local"}, exit.Usage, "the directory is the scope"},
		{[]string{"--snapshot", install, "--gitrepo", "apps"}, exit.Usage, "there is none"},
		{[]string{"--snapshot", install, "pod/a"}, exit.Usage, "want KIND/NAME"},
		{[]string{"--snapshot", install, "--context", "prod"}, exit.Usage, "exclude each other"},
		{[]string{"--snapshot", install, "bundle/absent"}, exit.Failed, "there is none"},
		{[]string{"--snapshot", install, "-f", filepath.Join(dir, "absent")}, exit.Failed, "opening bundle directory"},
	} {
		var out bytes.Buffer
		c := NewCommand(origin.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(tc.args)
		err := c.ExecuteContext(t.Context())
		said := out.String()
		if err != nil {
			said += err.Error()
		}
		if exit.Status(err) != tc.status || !strings.Contains(said, tc.says) {
			t.Errorf("%q: status %d, want %d and %q: %s", tc.args[2:], exit.Status(err), tc.status, tc.says, said)
		}
	}
}
