// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestFilesUnread audits the files of a bundle. No readable Secret shows whether its BundleDeployment is on this
// cluster.
func TestFilesUnread(t *testing.T) {
	f := faulty{Source: readCase(t, casesDir+"/desired-files-deployed.yaml").open(t),
		lists: map[string]source.Coverage{"Secret": forbidden, "Deployment": forbidden}}
	for _, predict := range []bool{false, true} {
		got, err := reportOf(audit.Run(t.Context(), f, audit.Options{Desired: audit.DesiredFiles,
			Files: []*render.Local{{Input: render.Input{Name: "apps-my-app-a26c2648"}}}, Predict: predict}))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.BundleDeployments) != 1 || got.BundleDeployments[0].DesiredFrom != "files" {
			t.Errorf("got %+v, want one bundle deployment, from files", got.BundleDeployments)
		}
	}
}
