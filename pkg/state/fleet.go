// SPDX-License-Identifier: Apache-2.0

// Package state has the data that was read, before it is evaluated: Fleet is the data of a management cluster, Cluster
// that of one cluster to which bundles are deployed. It decodes objects and does no I/O. A value is not changed once
// everything was added.
package state

import (
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Fleet has Fleet's objects on one management cluster. Its Add methods must not be called concurrently.
type Fleet struct {
	BundleDeployments []*v1alpha1.BundleDeployment
	Bundles           []*v1alpha1.Bundle
	GitRepos          []*v1alpha1.GitRepo
	HelmOps           []*v1alpha1.HelmOp
	Clusters          []*v1alpha1.Cluster
	ClusterGroups     []*v1alpha1.ClusterGroup
	Mappings          []*v1alpha1.BundleNamespaceMapping
	Schedules         []*v1alpha1.Schedule
	ImageScans        []*v1alpha1.ImageScan
	Registrations     []*v1alpha1.ClusterRegistration
	// NamespaceLabels are the labels of the Namespaces with Clusters, by name. They are read only if a mapping needs
	// them.
	NamespaceLabels map[string]map[string]string

	// ClusterNamespacesFound are the namespaces that Fleet made for the BundleDeployments of Clusters, by name. They
	// are only read to find those of Clusters that are gone.
	ClusterNamespacesFound map[string]ClusterNamespace

	// Contents are only read if a BundleDeployment needs one.
	Contents Contents
	// ControllerVersion is the image tag of fleet-controller, empty if it is not known.
	ControllerVersion string
	// ImageScan is whether the controller scans images, Scheduling whether it processes Schedules; nil if that is not
	// known.
	ImageScan, Scheduling *bool
	// Agents decides whether the controller imports the agents of Clusters again.
	Agents Agents
	// Coverage reports, by kind, which of these objects were read.
	Coverage map[string]source.Coverage
	// Values are the values Secrets; nil if they were not read.
	Values *Values

	// controllers are the Deployments with the names of Fleet's controllers, by name and namespace. Only those that
	// matter are read.
	controllers     map[string]map[string]Workload
	controllersRead map[string]bool
}

// Read reports whether all objects of a kind in a namespace were read. The namespace "" stands for all namespaces.
func (f *Fleet) Read(kind, namespace string) bool {
	if namespace == "" && kind != Namespace { // which has no namespace
		return f.Coverage[kind].Whole()
	}
	_, all := f.Coverage[kind].Of(namespace)
	return all
}

// ClusterNamespaces returns the namespaces of the Clusters' BundleDeployments, sorted.
func (f *Fleet) ClusterNamespaces() []string {
	return clusterNamespaces(f.Clusters)
}

// clusterNamespaces returns the namespaces of the BundleDeployments of Clusters, sorted. It is not nil.
func clusterNamespaces(clusters []*v1alpha1.Cluster) []string {
	out := []string{}
	for _, c := range clusters {
		if ns := c.Status.Namespace; ns != "" {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// SecretNamespaces returns the namespaces of the agents' Secrets and of the release records that Fleet's objects name.
func (f *Fleet) SecretNamespaces() (agents, releases []string) {
	for _, c := range f.Clusters {
		if ns := c.Status.Agent.Namespace; ns != "" {
			agents = append(agents, ns)
		}
	}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil {
			releases = append(releases, n.Namespace)
		}
	}
	slices.Sort(releases)
	return agents, slices.Compact(releases)
}

// Addresses returns the addresses of API servers that the configuration and the statuses of Clusters have. They are not
// secret, although Secrets have them too. An address with credentials is.
func (f *Fleet) Addresses() []string {
	var out []string
	add := func(address string) {
		if escape.IsPublic(address) {
			out = append(out, address)
		}
	}
	for _, c := range f.Agents.Configs {
		if c.Config != nil {
			add(c.APIServerURL)
		}
	}
	for _, c := range f.Clusters {
		add(c.Status.APIServerURL)
	}
	return out
}

// ContentIDs returns the names of the Contents that BundleDeployments need, each with these BundleDeployments.
func (f *Fleet) ContentIDs() map[string][]*v1alpha1.BundleDeployment {
	out := map[string][]*v1alpha1.BundleDeployment{}
	for _, bd := range f.BundleDeployments {
		if id := ContentID(bd); id != "" {
			out[id] = append(out[id], bd)
		}
	}
	return out
}
