// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestImpact checks the arguments of impact and its exit status.
func TestImpact(t *testing.T) {
	const edges = " --cluster-snapshot edge-1=../../test/testdata/impact/edge-1.yaml --cluster-snapshot " +
		"edge-2=../../test/testdata/impact/edge-2.yaml"
	for _, tc := range []struct {
		args   string
		status int
		out    string // a part of the output or of the error
	}{
		{"gitrepo/platform" + edges, cli.ExitFailed, "2 CustomResourceDefinitions with 4 custom resources"},
		{"bundle/databases", cli.ExitFailed, "on 3 of 3 clusters"},
		{"bd/cluster-edge-1/databases" + edges, cli.ExitOK, "removes 4 objects on 1 cluster"},
		{"bundledeployment databases -n cluster-edge-2" + edges, cli.ExitOK, "removes 4 objects on 1 cluster"},
		{"clusters.fleet.cattle.io/fleet-default/edge-1" + edges, cli.ExitOK, "may remove 4 objects on 1 cluster"},
		{"bundle/databases -o name" + edges, cli.ExitFailed,
			"-n cluster-edge-1 bundledeployment.fleet.cattle.io/databases"},
		{"gitrepo/platform -n other", cli.ExitFailed, "gitrepo/platform"},
		{"bundle/gone", cli.ExitFailed, "bundle/gone"},
		{"", cli.ExitUsage, "gitrepo/NAME"},
		{"service/shop", cli.ExitUsage, "gitrepo/NAME"},
		{"bundle/", cli.ExitUsage, "KIND/NAME"},
		{"bundle/databases --cluster-snapshot edge-1", cli.ExitUsage, "NAME=PATH"},
	} {
		got := run(t, append([]string{"impact", "--snapshot", "../../test/testdata/impact/management.yaml"},
			strings.Fields(tc.args)...)...)
		if got.status != tc.status || !strings.Contains(strings.ReplaceAll(got.out+got.errOut, "\n", " "), tc.out) {
			t.Errorf("%q: status %d, %q, %q", tc.args, got.status, got.out, got.errOut)
		}
	}
}

// TestImpactPage repeats the example of docs/verbs/impact.md.
func TestImpactPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/verbs/impact.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n$ kubectl fleetdoctor ")
	args, want, _ := strings.Cut(strings.TrimSuffix(rest, "```\n"), "\n")
	t.Chdir("../..")
	if got := run(t, strings.Fields(args)...); !found || got.out != want {
		t.Errorf("the output differs from docs/verbs/impact.md; run make generate:\n%s", got.out)
	}
}
