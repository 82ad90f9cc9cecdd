// SPDX-License-Identifier: Apache-2.0

package query

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/input"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestStatus checks the exit status for each combination of states.
func TestStatus(t *testing.T) {
	o := &whyVerb{Options: New(cli.Environment{Name: "kubectl fleetdoctor"})}
	o.Clusters = input.NewClusters(o.Flags)
	for _, tc := range []struct {
		states []report.State
		want   int
	}{
		{[]report.State{report.Ready}, cli.ExitOK},
		{[]report.State{report.Ready, report.NotReady}, cli.ExitFound},
		{[]report.State{report.Ready, report.Unknown}, cli.ExitFailed},
		{[]report.State{report.Unknown, report.NotReady}, cli.ExitFound},
	} {
		w := &report.Why{}
		for _, s := range tc.states {
			w.Objects = append(w.Objects, report.WhyObject{State: s})
		}
		if got := cli.ExitStatus(o.status(w)); got != tc.want {
			t.Errorf("%v: status %d, want %d", tc.states, got, tc.want)
		}
	}
}

// TestUnknownHint checks that other clusters are suggested only if objects were not read that Fleet reports as ready.
func TestUnknownHint(t *testing.T) {
	o := &whyVerb{Options: New(cli.Environment{Name: "kubectl fleetdoctor"})}
	o.Clusters = input.NewClusters(o.Flags)
	o.Snapshots = []string{"dump.tgz"}
	for name, tc := range map[string]struct {
		object report.WhyObject
		gaps   bool
		want   string
	}{
		"no deployment was read": {want: "audit --snapshot dump.tgz lists what could not be read."},
		"a cause": {report.WhyObject{Summary: report.WhySummary{FromStatus: 1},
			Causes: []report.WhyCause{{}}}, false, "lists what could not be read."},
		"ready, as Fleet reports": {report.WhyObject{Summary: report.WhySummary{FromStatus: 1}}, false,
			"--cluster-snapshot NAME=PATH also reads"},
		"ready, as Fleet reports, with gaps": {report.WhyObject{Summary: report.WhySummary{FromStatus: 1}}, true,
			"NOT READ lists what is missing."},
	} {
		if got := o.unknownHint(&tc.object, tc.gaps); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
