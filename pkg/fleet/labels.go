// SPDX-License-Identifier: Apache-2.0

// Package fleet has the labels and annotations that Fleet writes, and the ids, hashes, names and versions that it
// computes. All functions are pure.
package fleet

import "strings"

// Labels and annotations of the objects that Fleet's agent deploys.
const (
	// HashLabel is the only label from which the agent decides that it owns an object.
	HashLabel = "objectset.rio.cattle.io/hash"
	// IDAnnotation has the id of the set; HashLabel is its hash.
	IDAnnotation = "objectset.rio.cattle.io/id"
	// PruneLabel with the value "false" means that the object is never reported as orphaned.
	PruneLabel = "objectset.rio.cattle.io/prune"

	OwnerGVKAnnotation       = "objectset.rio.cattle.io/owner-gvk"
	OwnerNameAnnotation      = "objectset.rio.cattle.io/owner-name"
	OwnerNamespaceAnnotation = "objectset.rio.cattle.io/owner-namespace"
)

// Helm's label and annotations. Helm refuses an existing object without them.
const (
	ManagedByLabel             = "app.kubernetes.io/managed-by"
	ManagedByHelm              = "Helm"
	ReleaseNameAnnotation      = "meta.helm.sh/release-name"
	ReleaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
	ResourcePolicyAnnotation   = "helm.sh/resource-policy"
	HookAnnotation             = "helm.sh/hook"
)

// Labels of Fleet's own objects.
const (
	RepoLabel             = "fleet.cattle.io/repo-name"
	HelmOpLabel           = "fleet.cattle.io/fleet-helm-name"
	BundleLabel           = "fleet.cattle.io/bundle-name"
	BundleNamespaceLabel  = "fleet.cattle.io/bundle-namespace"
	ClusterLabel          = "fleet.cattle.io/cluster"
	ClusterNamespaceLabel = "fleet.cattle.io/cluster-namespace"
	CommitLabel           = "fleet.cattle.io/commit"
	// ManagedLabel with the value "true" is on the namespaces that Fleet makes for Clusters. Their annotations have the
	// names of ClusterLabel and ClusterNamespaceLabel.
	ManagedLabel = "fleet.cattle.io/managed"
	// RancherClusterLabel of a Cluster is the id of the cluster in Rancher.
	RancherClusterLabel = "management.cattle.io/cluster-name"
	// DisplayNameLabel is the name of a Cluster in Rancher.
	DisplayNameLabel = "management.cattle.io/cluster-display-name"
	// ManageAgentSet is the id annotation of the bundles that Fleet makes to deploy its agents.
	ManageAgentSet = "fleet-manage-agent"
	// CopyLabel is on copies of downstreamResources. Its value is the name of the BundleDeployment.
	CopyLabel = "fleet.cattle.io/bundledeployment"
)

// Annotations of the chart in a release record.
const (
	BundleIDAnnotation       = "fleet.cattle.io/bundle-id"
	AgentNamespaceAnnotation = "fleet.cattle.io/agent-namespace"
	ServiceAccountAnnotation = "fleet.cattle.io/service-account"
	KeepResourcesAnnotation  = "fleet.cattle.io/keep-resources"
	// ShardLabel names the controllers that process an object. Only they do.
	ShardLabel = "fleet.cattle.io/shard-ref"
)

// PodSecurityPrefix begins the labels of a Namespace for Pod Security, which some versions of the agent do not write
// (docs/fleet-behavior.md, 1.10).
const PodSecurityPrefix = "pod-security.kubernetes.io/"

// IsSystemNamespace reports whether Fleet is usually installed in a namespace.
func IsSystemNamespace(namespace string) bool {
	return namespace == "cattle-fleet-system" || namespace == "cattle-fleet-local-system"
}

// IsDefaultWorkspace reports whether a namespace is one of the workspaces that Fleet has by default: that of the
// management cluster itself, and that of the clusters that register. Others are for users.
func IsDefaultWorkspace(namespace string) bool {
	return namespace == "fleet-local" || namespace == "fleet-default"
}

// IsClusterNamespace reports whether a namespace has a name that Fleet gives the namespaces of BundleDeployments.
func IsClusterNamespace(namespace string) bool { return strings.HasPrefix(namespace, "cluster-") }

// Objects of an agent on its cluster.
const (
	AgentName = "fleet-agent" // Secret, Deployment or StatefulSet in the agent's namespace
	// AgentPods selects the pods of an agent.
	AgentPods = "app=" + AgentName
	// AgentManager is the field manager of the agent, and of Helm in it.
	AgentManager = "fleetagent"
	// DefaultAccount is the service account that an agent uses, if it exists, for bundles that name none.
	DefaultAccount = "fleet-default"
	// AgentScopeEnv is the environment variable of the agent that is part of every set id.
	AgentScopeEnv = "AGENT_SCOPE"
	// AgentSecretNamespaceKey is the key in the agent's Secret with the namespace of its BundleDeployments.
	AgentSecretNamespaceKey = "deploymentNamespace"
	// ImageScanEnv is the environment variable of Fleet's controllers that enables the scan of images, from 0.15 on.
	ImageScanEnv = "IMAGESCAN_ENABLED"
	// SchedulesEnv is the environment variable of fleet-controller that enables schedules.
	SchedulesEnv = "EXPERIMENTAL_SCHEDULES"
	// CheckinIntervalEnv is the environment variable of the agent with the interval of its heartbeat.
	CheckinIntervalEnv = "CHECKIN_INTERVAL"
	ControllerName     = "fleet-controller" // Deployment and ConfigMap in the system namespace
	// GitJobName and HelmOpsName are the Deployments of the controllers of GitRepos and HelmOps.
	GitJobName  = "gitjob"
	HelmOpsName = "helmops"
)
