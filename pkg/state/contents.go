// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Contents is what is known of the objects with the manifests of bundles.
type Contents struct {
	// Missing are the names of those that BundleDeployments need and that do not exist. It is empty if not all could be
	// read.
	Missing map[string]bool
	// Deleting are those that are being deleted.
	Deleting []Deleting
	Coverage source.Coverage
}

// contentName is the form of the name of every Content (docs/fleet-behavior.md, 2.1).
var contentName = regexp.MustCompile(`^s-[0-9a-f]{61}$`)

// ContentID returns the name of the Content that a BundleDeployment needs; empty if it needs none: its contents are in
// an OCI registry, the agent downloads a chart, or it is being deleted. Source: docs/fleet-behavior.md, 2.2 and 2.3.
func ContentID(bd *v1alpha1.BundleDeployment) string {
	if bd.Spec.OCIContents || len(bd.Spec.HelmChartOptions) > 0 || bd.DeletionTimestamp != nil {
		return ""
	}
	id, _, ok := strings.Cut(bd.Spec.DeploymentID, ":")
	if !ok || !contentName.MatchString(id) {
		return ""
	}
	return id
}
