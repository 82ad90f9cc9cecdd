// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// ClusterNamespace is a namespace that Fleet made for the BundleDeployments of a Cluster, and that is not being
// deleted.
type ClusterNamespace struct {
	// Workspace and Cluster are the namespace and the name of the Cluster.
	Workspace, Cluster string
	// Created is zero if it is not known.
	Created time.Time
}
