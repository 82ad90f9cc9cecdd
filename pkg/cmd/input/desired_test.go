// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestDesired checks the source of desired objects, and the errors of wrong usage and of reading.
func TestDesired(t *testing.T) {
	named, unnamed, empty, wrong := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for file, content := range map[string]string{
		filepath.Join(named, "fleet.yaml"): "name: guestbook\n",
		filepath.Join(named, "cm.yaml"):    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		filepath.Join(unnamed, "cm.yaml"):  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		filepath.Join(wrong, "fleet.yaml"): "helm: invented-secret-value\n",
		filepath.Join(wrong, "cm.yaml"):    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args    []string
		want    engine.Desired
		bundle  string
		status  int
		message string
	}{
		{want: engine.DesiredRelease},
		{args: []string{"--desired=bundle"}, want: engine.DesiredBundle},
		{args: []string{"--desired", "auto"}, want: engine.DesiredAuto},
		{args: []string{"-f", named}, want: engine.DesiredFiles, bundle: "guestbook"},
		{args: []string{"-f", named, "--desired=files"}, want: engine.DesiredFiles, bundle: "guestbook"},
		// the name in the fleet.yaml has precedence
		{args: []string{"-f", named, "--gitrepo=apps", "--path=web"}, want: engine.DesiredFiles, bundle: "guestbook"},
		{args: []string{"-f", unnamed, "--gitrepo=apps", "--path=web"}, want: engine.DesiredFiles, bundle: "apps-web"},
		{args: []string{"-f", unnamed, "--gitrepo=apps"}, want: engine.DesiredFiles, bundle: "apps"},
		{args: []string{"--desired=files"}, status: cli.ExitUsage, message: "--desired=files requires -f"},
		{args: []string{"--gitrepo=apps"}, status: cli.ExitUsage, message: "require -f"},
		{args: []string{"--path="}, status: cli.ExitUsage, message: "require -f"},
		{args: []string{"-f", named, "--desired=bundle"}, status: cli.ExitUsage,
			message: "-f and --desired=bundle are mutually exclusive"},
		{args: []string{"-f", named, "--desired=release"}, status: cli.ExitUsage,
			message: "-f and --desired=release are mutually exclusive"},
		{args: []string{"-f", ""}, status: cli.ExitUsage, message: "-f is empty"},
		{args: []string{"-f", unnamed}, status: cli.ExitUsage,
			message: "no fleet.yaml states its name; add --gitrepo=NAME and --path=PATH"},
		{args: []string{"-f", empty, "--gitrepo=apps"}, status: cli.ExitFailed, message: "it has no file to deploy"},
		{args: []string{"-f", filepath.Join(empty, "absent")}, status: cli.ExitFailed,
			message: "opening bundle directory"},
		{args: []string{"-f", filepath.Join(named, "cm.yaml")}, status: cli.ExitFailed,
			message: "opening bundle directory"},
		// refused by fleet apply, which is a result
		{args: []string{"-f", wrong, "--gitrepo=apps"}, want: engine.DesiredFiles, bundle: "apps"},
	} {
		f := scopeParsed(t, tc.args...)
		o, err := f.ToOptions(nil)
		if err != nil {
			err = cli.UsageError(err)
		} else {
			err = f.LoadDirectory(&o)
		}
		got, in := o.Desired, o.Files
		if cli.ExitStatus(err) != tc.status || err == nil && got != tc.want {
			t.Errorf("%q: %q and status %d, want %q and %d: %v", tc.args, got, cli.ExitStatus(err), tc.want, tc.status,
				err)
			continue
		}
		if err != nil && (!strings.Contains(err.Error(), tc.message) || strings.Contains(err.Error(), "invented")) {
			t.Errorf("%q: error %v does not contain %q, or quotes the file", tc.args, err, tc.message)
		}
		var explained *cli.Error
		if tc.status == cli.ExitFailed && (!errors.As(err, &explained) || explained.Hint == "") {
			t.Errorf("%q: the error has no hint", tc.args)
		}
		if (in != nil) != (tc.bundle != "") || len(in) > 0 && in[0].Name != tc.bundle {
			t.Errorf("%q: bundle %v, want %q", tc.args, in, tc.bundle)
		}
	}
	c := &cobra.Command{}
	NewScope(New(cli.Environment{}), engine.DesiredAuto).AddDesiredFlag(c)
	if err := c.ParseFlags([]string{"--desired=git"}); err == nil || !strings.Contains(err.Error(), "auto") {
		t.Errorf("an unknown value: error %v", err)
	}
}
