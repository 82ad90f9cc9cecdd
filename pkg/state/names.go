// SPDX-License-Identifier: Apache-2.0

package state

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"

// The names of the kinds.
const (
	BundleDeployment = "BundleDeployment"
	Bundle           = "Bundle"
	GitRepo          = "GitRepo"
	HelmOp           = "HelmOp"
	ClusterKind      = "Cluster"
	ClusterGroup     = "ClusterGroup"
)

// The names of two kinds on which only the targets of bundles depend. They are not in Kinds: the report has no row for
// them.
const (
	BundleNamespaceMapping = targeting.KindMapping
	Namespace              = targeting.KindNamespace
)

// The names of kinds that only findings need. They are not in Kinds: no bundle deployment belongs to them.
const (
	Schedule            = "Schedule"
	ImageScan           = "ImageScan"
	ClusterRegistration = "ClusterRegistration"
)

// Content is the kind of the objects with the manifests of bundles. They are not in Kinds: only their names are read.
const Content = "Content"
