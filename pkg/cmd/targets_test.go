// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestTargets checks the arguments of targets and its exit status.
func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		args   string
		status int
		out    string // a part of the output or of the error
	}{
		{"bundle/shop", cli.ExitOK, "fleet-default/c2"},
		{"bundle shop shop-eu", cli.ExitOK, "bundle fleet-default/shop-eu"},
		{"bundles.fleet.cattle.io/fleet-default/shop", cli.ExitOK, "fleet-default/c2"},
		{"bundle/shop -n fleet-default -o name", cli.ExitOK, "-n fleet-default bundle.fleet.cattle.io/shop"},
		{"bundle/shop -n other", cli.ExitFailed, "bundle/shop"},
		{"bundle/gone", cli.ExitFailed, "bundle/gone"},
		{"", cli.ExitUsage, "bundle/NAME"},
		{"gitrepo/shop", cli.ExitUsage, "bundle/NAME"},
		{"bundle/", cli.ExitUsage, "KIND/NAME"},
	} {
		got := run(t, append([]string{"targets", "--snapshot", "../../test/testdata/targets"},
			strings.Fields(tc.args)...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.out) {
			t.Errorf("%q: status %d, %q, %q", tc.args, got.status, got.out, got.errOut)
		}
	}
}

// TestAgentNames checks how agents finds Clusters by their names.
func TestAgentNames(t *testing.T) {
	for _, tc := range []struct {
		args   string
		status int
		out    string // a part of the output or of the error
	}{
		{"local", cli.ExitOK, "fleet-local/local"},
		{"cluster/local", cli.ExitOK, "fleet-local/local"},
		{"clusters.fleet.cattle.io/fleet-local/local", cli.ExitOK, "fleet-local/local"},
		{"local cluster/local", cli.ExitOK, "fleet-local/local"},
		{"local other", cli.ExitFailed, "cluster/other not found"},
		{"cluster/other", cli.ExitFailed, "cluster/other not found"},
		{"bundle/local", cli.ExitFailed, "cluster/bundle/local not found"},
	} {
		got := run(t, append([]string{"agents", "--fail-on=none", "--snapshot", sick}, strings.Fields(tc.args)...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.out) {
			t.Errorf("%q: status %d, %q, %q", tc.args, got.status, got.out, got.errOut)
		}
	}
}
