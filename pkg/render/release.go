// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// releaseName returns the name of the release of a BundleDeployment. Source: docs/fleet-behavior.md, 1.4.
func releaseName(bundleDeployment string, o *v1alpha1.Options) string {
	return cmp.Or(o.Helm.ReleaseName, fleet.HelmReleaseName(bundleDeployment))
}

// releaseNamespace returns the namespace of the release, which is also the namespace of namespaced objects that state
// none. Source: docs/fleet-behavior.md, 1.4.
func releaseNamespace(o *v1alpha1.Options) string {
	return cmp.Or(o.TargetNamespace, o.DefaultNamespace, fleet.DefaultNamespace)
}

// Release returns the release that the rollout installs or upgrades.
func (in *Input) Release() (namespace, name string) {
	o := in.Options
	o.Helm = cmp.Or(o.Helm, &v1alpha1.HelmOptions{})
	return releaseNamespace(&o), releaseName(in.Name, &o)
}
