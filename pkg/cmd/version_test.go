// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

func TestVersion(t *testing.T) {
	const sick = "../../test/testdata/sick"
	for args, want := range map[string]struct {
		status     int
		controller string
	}{
		"--client":                           {cli.ExitOK, ""},
		"--snapshot " + sick:                 {cli.ExitOK, "dev"},
		"--snapshot " + sick + "/nowhere":    {cli.ExitFailed, ""},
		"--server https://127.0.0.1:1":       {cli.ExitFailed, ""},
		"--client --snapshot " + sick:        {cli.ExitUsage, ""},
		"--snapshot " + sick + " --server=x": {cli.ExitUsage, ""},
		"more":                               {cli.ExitUsage, ""},
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		c := cmd.NewVersion(cli.Environment{Streams: streams, Name: "kubectl fleetdoctor", Version: "v1.2.3",
			Commit: "abc", Now: time.Now})
		c.SetArgs(append(strings.Fields(args), "-o", "json"))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if cli.ExitStatus(err) != want.status {
			t.Errorf("%s: status %d, want %d: %v", args, cli.ExitStatus(err), want.status, err)
		}
		if want.status == cli.ExitUsage {
			if out.Len() > 0 {
				t.Errorf("%s printed %s", args, out)
			}
			continue
		}
		var v report.Version
		if err := json.Unmarshal(out.Bytes(), &v); err != nil { // the client's version is printed in any case
			t.Fatalf("%s: %v", args, err)
		}
		if v.Client != (report.ClientVersion{Version: "v1.2.3", GitCommit: "abc", GoVersion: runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH}) {
			t.Errorf("%s: %+v", args, v.Client)
		}
		if want.controller == "" && v.Source != nil || want.controller != "" &&
			v.Source.FleetVersions.Controller != want.controller {
			t.Errorf("%s: %+v, want the controller %q", args, v.Source, want.controller)
		}
	}
}
