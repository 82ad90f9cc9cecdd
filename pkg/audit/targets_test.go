// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestTargetsPending checks that a deployment which Fleet still has to create is Pending, where FD302 reports nothing,
// and that others are Absent.
func TestTargetsPending(t *testing.T) {
	const absent, pending = report.DeploymentAbsent, report.DeploymentPending
	waiting := map[string]report.TargetDeployment{"team/one": pending, "team/two": pending, "team/night": pending}
	for bundle, want := range map[string]map[string]report.TargetDeployment{
		"lost": {"team/one": report.DeploymentExists, "team/two": absent, "team/new": report.DeploymentNone,
			"team/night": pending},
		"paused":        {"team/two": absent},
		"resolved":      {"team/two": absent},
		"pending":       waiting,
		"not-processed": waiting,
		"failing":       waiting,
		"unresolved":    waiting,
		"deleted":       {},
	} {
		got, err := query.Targets(t.Context(), readCase(t, casesDir+"/targets-absent.yaml").open(t),
			query.Options{},
			[]source.Named{{Name: bundle}})
		if err != nil {
			t.Errorf("%s: %v", bundle, err)
			continue
		}
		deployments := map[string]report.TargetDeployment{}
		for _, c := range got.Bundles[0].Clusters {
			if c.Deployment != report.DeploymentNone || want[c.Cluster] != "" {
				deployments[c.Cluster] = c.Deployment
			}
		}
		if diff := cmp.Diff(want, deployments); diff != "" {
			t.Errorf("%s (-want +got):\n%s", bundle, diff)
		}
	}
}
