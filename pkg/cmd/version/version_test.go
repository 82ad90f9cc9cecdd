// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/version"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

func TestVersion(t *testing.T) {
	const sick = "../../../test/testdata/sick"
	for args, want := range map[string]struct {
		status     int
		controller string
	}{
		"--client":                           {exit.OK, ""},
		"--snapshot " + sick:                 {exit.OK, "dev"},
		"--snapshot " + sick + "/nowhere":    {exit.Failed, ""},
		"--server https://127.0.0.1:1":       {exit.Failed, ""},
		"--client --snapshot " + sick:        {exit.Usage, ""},
		"--snapshot " + sick + " --server=x": {exit.Usage, ""},
		"more":                               {exit.Usage, ""},
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		c := version.NewCommand(verb.Environment{Streams: streams, Name: "kubectl fleetdoctor", Version: "v1.2.3",
			Commit: "abc", Now: time.Now})
		c.SetArgs(append(strings.Fields(args), "-o", "json"))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if exit.Status(err) != want.status {
			t.Errorf("%s: status %d, want %d: %v", args, exit.Status(err), want.status, err)
		}
		if want.status == exit.Usage {
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
