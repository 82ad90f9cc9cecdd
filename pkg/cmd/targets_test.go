// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// TestTargets checks the arguments of targets and its exit status.
func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		args   string
		status int
		out    string // a part of the output or of the error
	}{
		{"bundle/shop", exit.OK, "fleet-default/c2"},
		{"bundle shop shop-eu", exit.OK, "bundle fleet-default/shop-eu"},
		{"bundles.fleet.cattle.io/fleet-default/shop", exit.OK, "fleet-default/c2"},
		{"bundle/shop -n fleet-default -o name", exit.OK, "-n fleet-default bundle.fleet.cattle.io/shop"},
		{"bundle/shop -n other", exit.Failed, "bundle/shop"},
		{"bundle/gone", exit.Failed, "bundle/gone"},
		{"", exit.Usage, "bundle/NAME"},
		{"gitrepo/shop", exit.Usage, "bundle/NAME"},
		{"bundle/", exit.Usage, "KIND/NAME"},
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
		{"local", exit.OK, "fleet-local/local"},
		{"cluster/local", exit.OK, "fleet-local/local"},
		{"clusters.fleet.cattle.io/fleet-local/local", exit.OK, "fleet-local/local"},
		{"local cluster/local", exit.OK, "fleet-local/local"},
		{"local other", exit.Failed, "cluster/other not found"},
		{"cluster/other", exit.Failed, "cluster/other not found"},
		{"bundle/local", exit.Failed, "cluster/bundle/local not found"},
	} {
		got := run(t, append([]string{"agents", "--fail-on=none", "--snapshot", sick}, strings.Fields(tc.args)...)...)
		if got.status != tc.status || !strings.Contains(got.out+got.errOut, tc.out) {
			t.Errorf("%q: status %d, %q, %q", tc.args, got.status, got.out, got.errOut)
		}
	}
}
