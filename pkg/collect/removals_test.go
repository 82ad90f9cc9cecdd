// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestConfirm checks what a second read of a record and of a BundleDeployment shows. A read that failed shows nothing.
func TestConfirm(t *testing.T) {
	record := &state.Record{Record: release.Record{Name: release.Name{Namespace: "web", Name: "gone", Revision: 1},
		BundleID: "gone"}}
	secret, deployment := [2]string{"web", record.SecretName()}, [2]string{"one", "gone"}
	unread := source.NotCovered(source.Failure{Reason: source.Forbidden})
	for _, tc := range []struct {
		name                 string
		records, deployments names
		expects              bool // the first read showed the BundleDeployment
		confirmed, undone    bool
	}{
		{"the same", names{map[[2]string]bool{secret: true}, source.Covered()}, names{nil, source.Covered()}, false,
			true, false},
		{"the BundleDeployment was created since", names{map[[2]string]bool{secret: true}, source.Covered()},
			names{map[[2]string]bool{deployment: true}, source.Covered()}, false, false, true},
		{"the release was uninstalled since", names{nil, source.Covered()}, names{nil, source.Covered()}, false, false,
			true},
		{"the BundleDeployment still expects another release", names{map[[2]string]bool{secret: true},
			source.Covered()}, names{map[[2]string]bool{deployment: true}, source.Covered()}, true, true, false},
		{"the BundleDeployment was deleted since", names{map[[2]string]bool{secret: true}, source.Covered()},
			names{nil, source.Covered()}, true, false, true},
		{"the records could not be read", names{nil, unread}, names{nil, source.Covered()}, false, false, false},
		{"the BundleDeployments could not be read", names{map[[2]string]bool{secret: true}, source.Covered()},
			names{nil, unread}, false, false, false},
	} {
		x := &resolve.Removal{Record: record, Watched: "one"}
		if tc.expects {
			x.Expects = &v1alpha1.BundleDeployment{}
		}
		a := rereads{records: tc.records, deployments: tc.deployments}
		if confirmed, undone := a.confirm(x); confirmed != tc.confirmed || undone != tc.undone {
			t.Errorf("%s: confirmed %v, undone %v", tc.name, confirmed, undone)
		}
	}
}
