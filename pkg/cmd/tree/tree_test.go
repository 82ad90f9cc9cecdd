// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/verb"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestStatus checks the exit status for each combination of states.
func TestStatus(t *testing.T) {
	o := &options{Options: query.New(verb.Environment{Name: "kubectl fleetdoctor"})}
	ready, unknown := report.BundleDeployment{State: report.Ready}, report.BundleDeployment{State: report.Unknown,
		Reason: "ClusterNotRead"}
	gap := []report.Gap{{What: "bundledeployments.json", Reason: "it ends in the middle"}}
	for name, tc := range map[string]struct {
		all  []report.BundleDeployment
		gaps []report.Gap
		want int
	}{
		"nothing":  {nil, nil, exit.OK},
		"ready":    {[]report.BundleDeployment{ready, ready}, nil, exit.OK},
		"modified": {[]report.BundleDeployment{ready, {State: report.Modified}}, nil, exit.Found},
		"unknown":  {[]report.BundleDeployment{ready, unknown}, nil, exit.Failed},
		"unknown and not ready": {[]report.BundleDeployment{unknown, {State: report.ErrApplied}}, nil,
			exit.Found},
		"ready, without all objects": {[]report.BundleDeployment{{State: report.Ready, Reason: "RecordUnreadable"}},
			nil, exit.Failed},
		"waiting, without all objects": {[]report.BundleDeployment{{State: report.WaitApplied,
			Reason: "RecordUnreadable"}}, nil, exit.Found},
		"ready, with a gap":    {[]report.BundleDeployment{ready}, gap, exit.Failed},
		"nothing, with a gap":  {nil, gap, exit.Failed},
		"modified, with a gap": {[]report.BundleDeployment{{State: report.Modified}}, gap, exit.Found},
	} {
		if got := exit.Status(o.status(&report.Audit{BundleDeployments: tc.all, Gaps: tc.gaps})); got != tc.want {
			t.Errorf("%s: status %d, want %d", name, got, tc.want)
		}
	}
}

// TestTree checks the exit status and the output for captured clusters.
func TestTree(t *testing.T) {
	const data = "../../../test/testdata/"
	for args, want := range map[string]struct {
		status int
		has    string
	}{
		"gitrepo/guestbook --snapshot " + data +
			"sick": {exit.Found,
			"configmap guestbook/theme"},
		"gitrepo/fleet-local/guestbook --snapshot " + data +
			"sick": {exit.Found,
			"configmap guestbook/theme"},
		"gitrepo/guestbook -n fleet-local --snapshot " + data +
			"sick --compact": {exit.Found, "cluster fleet-local/local"},
		"gitrepo guestbook ingress -o name --snapshot " + data +
			"sick": {exit.Found,
			"bundledeployment.fleet.cattle.io/ingress-ingress"},
		"--snapshot " + data + "clean -o name --all": {exit.OK, "bundledeployment.fleet.cattle.io/ingress-ingress"},
		"cluster/local --snapshot " + data +
			"clean -o jsonpath={.kind}": {exit.OK, report.Kind},
		// as -o name prints it
		"bundledeployment.fleet.cattle.io/ingress-ingress -n cluster-fleet-local-local-1a3d67d0a899 --snapshot " +
			data + "sick": {exit.Found, "ingress-ingress"},
		"gitrepo/nothing --snapshot " + data +
			"sick": {exit.Failed, ""},
		"pod/frontend --snapshot " + data +
			"sick": {exit.Usage, ""},
		"--snapshot " + data + "impact/management.yaml": {exit.Failed, "ClusterNotRead"},
		"--snapshot " + data + "impact/management.yaml --cluster-snapshot edge-1=" + data +
			"clean": {exit.Failed, "cluster fleet-default/edge-1"},
	} {
		var out bytes.Buffer
		c := NewCommand(verb.Environment{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out,
			ErrOut: &out}, Now: time.Now, Name: "kubectl fleetdoctor"})
		c.SetArgs(strings.Fields(args))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if got := exit.Status(err); got != want.status || !strings.Contains(out.String(), want.has) {
			t.Errorf("%s: status %d, want %d (%v), without %q:\n%s", args, got, want.status, err, want.has,
				out.String())
		}
		if compact := strings.Contains(args, "--compact"); compact && strings.Contains(out.String(), "theme") {
			t.Errorf("%s shows objects:\n%s", args, out.String())
		}
	}
}
