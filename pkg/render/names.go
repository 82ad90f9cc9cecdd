// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// ReleaseName returns the name of the release of a BundleDeployment. Source: docs/fleet-behavior.md, 1.4.
func ReleaseName(bundleDeployment string, o *v1alpha1.Options) string {
	if o.Helm != nil && o.Helm.ReleaseName != "" {
		return o.Helm.ReleaseName
	}
	return fleet.HelmReleaseName(bundleDeployment)
}

// ReleaseNamespace returns the namespace of the release, which is also that of namespaced objects that state none.
// Source: docs/fleet-behavior.md, 1.4.
func ReleaseNamespace(o *v1alpha1.Options) string {
	return cmp.Or(o.TargetNamespace, o.DefaultNamespace, fleet.DefaultNamespace)
}
