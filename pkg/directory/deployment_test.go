// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestOptions checks that options from files have precedence over those of the BundleDeployment, and that the default
// is the empty options.
func TestOptions(t *testing.T) {
	bd := &v1alpha1.BundleDeployment{}
	bd.Spec.Options.DefaultNamespace = "web"
	fromFiles := &v1alpha1.Options{DefaultNamespace: "shop"}
	for want, d := range map[string]*Deployment{"": {}, "web": {BD: bd},
		"shop": {BD: bd, Files: &Files{Options: fromFiles}}} {
		if got := d.Options().DefaultNamespace; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
