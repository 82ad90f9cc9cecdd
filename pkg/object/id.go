// SPDX-License-Identifier: Apache-2.0

package object

import "cmp"

// ClusterID identifies a cluster that is read: the name that the user gives it, empty for the source itself.
type ClusterID string

// ID is the identity of an object. The same ConfigMap on two clusters is two objects.
type ID struct {
	Cluster ClusterID
	Key
}

// DeploymentID is the identity of a bundle deployment: one bundle on one cluster.
type DeploymentID struct {
	// Cluster is the cluster that is read and that it is deployed to; empty also if that is not known.
	Cluster ClusterID
	// Namespace and Name are those of the BundleDeployment. If there is none, Namespace is empty and Name is the
	// bundle id.
	Namespace, Name string
	// Release is the release ("namespace/name") of a bundle deployment of which only that is known.
	Release string
}

// String is "namespace/name", or the bundle id alone.
func (d DeploymentID) String() string {
	if d.Namespace == "" {
		return d.Name
	}
	return d.Namespace + "/" + d.Name
}

// Compare orders identities by namespace, name, release and cluster.
func (d DeploymentID) Compare(o DeploymentID) int {
	return cmp.Or(cmp.Compare(d.Namespace, o.Namespace), cmp.Compare(d.Name, o.Name),
		cmp.Compare(d.Release, o.Release), cmp.Compare(d.Cluster, o.Cluster))
}

// CellID is the identity of one desired object of one bundle deployment.
type CellID struct {
	Deployment DeploymentID
	Object     Key
}
