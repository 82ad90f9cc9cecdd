// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
)

// TestTree checks the exit status and the output for captured clusters.
func TestTree(t *testing.T) {
	const data = "../../../test/testdata/"
	for args, want := range map[string]struct {
		status int
		has    string
	}{
		"gitrepo/guestbook --snapshot " + data +
			"sick": {cli.ExitFound,
			"configmap guestbook/theme"},
		"gitrepo/fleet-local/guestbook --snapshot " + data +
			"sick": {cli.ExitFound,
			"configmap guestbook/theme"},
		// as -o name prints it
		"bundledeployment.fleet.cattle.io/ingress-ingress -n cluster-fleet-local-local-1a3d67d0a899 --snapshot " +
			data + "sick": {cli.ExitFound, "ingress-ingress"},
		"gitrepo/nothing --snapshot " + data +
			"sick": {cli.ExitFailed, ""},
		"--snapshot " + data + "impact/management.yaml": {cli.ExitFailed, "ClusterNotRead"},
		"--snapshot " + data + "impact/management.yaml --cluster-snapshot edge-1=" + data +
			"clean": {cli.ExitFailed, "cluster fleet-default/edge-1"},
	} {
		out, err := execute(t, append(strings.Fields(args), "--output=tree")...)
		if got := cli.ExitStatus(err); got != want.status || !strings.Contains(out, want.has) {
			t.Errorf("%s: status %d, want %d (%v), without %q:\n%s", args, got, want.status, err, want.has, out)
		}
	}
}
