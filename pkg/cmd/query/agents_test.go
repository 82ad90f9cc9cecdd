// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// run runs the verb on a case.
func run(t *testing.T, file string, args ...string) (status int, out, errOut string) {
	t.Helper()
	var head map[string]any
	c, err := cases.Read("../../../test/testdata/cases/"+file+".yaml", &head)
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
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	streams.In = in
	status = cmd.Main(t.Context(), slices.Concat([]string{"kubectl-fleetdoctor", "agents", "--snapshot", "-"}, args),
		cli.Environment{Streams: streams})
	return status, stdout.String(), stderr.String()
}

// TestStatus has the exit statuses, and what selects Clusters.
func TestStatus(t *testing.T) {
	for _, tc := range []struct {
		file   string
		args   string
		status int
		out    []string // parts of standard output
		not    []string
		errOut string
	}{
		{file: "agent-heartbeats", status: 1, out: []string{"fleet-default/silent", "46m / 15m", "fleet-default/never",
			"3 never reported"}},
		{file: "agent-heartbeats", args: "--fail-on=error", status: 0},
		{file: "agent-heartbeats", args: "--fail-on=none", status: 0},
		{file: "agent-heartbeats", args: "alive -n fleet-default", status: 0, out: []string{"fleet-default/alive"},
			not: []string{"silent"}},
		{file: "agent-heartbeats", args: "alive silent", status: 1, out: []string{"fleet-default/alive",
			"fleet-default/silent"}, not: []string{"never"}},
		{file: "agent-heartbeats", args: "nope", status: 3, errOut: "cluster/nope not found"},
		{file: "agent-heartbeats", args: "-n nope", status: 3, errOut: "namespace nope has no Clusters"},
		{file: "agent-heartbeats", args: "-o name", status: 1,
			out: []string{"-n fleet-default cluster.fleet.cattle.io/silent\n"}, not: []string{"alive"}},
		{file: "reimport-fleet-0.12", status: 1, out: []string{"1 imported again by a restart", "-o wide shows"},
			not: []string{"re-import", "apiServerURL", "s3cr3t"}},
		{file: "reimport-fleet-0.12", args: "-o wide", status: 1, out: []string{"re-import", "apiServerURL"},
			not: []string{"s3cr3t", "-o wide shows"}},
		{file: "reimport-fleet-0.13", status: 0, not: []string{"re-import", "s3cr3t", "-o wide"}},
		{file: "reimport-masked", status: 3, out: []string{"1 not predicted"}, not: []string{"masked"},
			errOut: "it is not known whether the " +
				"controller imports"},
		{file: "reimport-masked", args: "-o wide", status: 3, out: []string{"unknown", "masked"},
			errOut: "it is not known whether the " +
				"controller imports"},
		{file: "agent-disabled", status: 0, out: []string{"disabled"}},
		{file: "downstream", status: 3, errOut: "there are no Clusters"},
		{file: "agent-heartbeats", args: "-o nope", status: 2, errOut: "invalid --output"},
		{file: "agent-heartbeats", args: "--fail-on=nope", status: 2, errOut: "fail-on"},
	} {
		status, out, errOut := run(t, tc.file, strings.Fields(tc.args)...)
		if status != tc.status || !strings.Contains(errOut, tc.errOut) {
			t.Errorf("%s %s: status %d, want %d: %s", tc.file, tc.args, status, tc.status, errOut)
		}
		for _, part := range tc.out {
			if !strings.Contains(out, part) {
				t.Errorf("%s %s: no %q in the output:\n%s", tc.file, tc.args, part, out)
			}
		}
		for _, part := range tc.not {
			if strings.Contains(out+errOut, part) {
				t.Errorf("%s %s: %q is in the output:\n%s%s", tc.file, tc.args, part, out, errOut)
			}
		}
	}
}
