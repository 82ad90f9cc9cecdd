// SPDX-License-Identifier: Apache-2.0

// Package fleet is Fleet's vocabulary: the labels it writes, the ids and hashes it computes, the names it makes.
// Everything here is a pure function of its arguments.
package fleet

// Labels and annotations of the objects that Fleet's agent deploys.
const (
	// HashLabel alone decides whether the agent counts an object as its own.
	HashLabel = "objectset.rio.cattle.io/hash"
	// IDAnnotation is what HashLabel is the hash of.
	IDAnnotation = "objectset.rio.cattle.io/id"
	// PruneLabel with the value "false" keeps an object from ever being reported as orphaned.
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
)

// Annotations of the chart in a release record.
const (
	BundleIDAnnotation       = "fleet.cattle.io/bundle-id"
	AgentNamespaceAnnotation = "fleet.cattle.io/agent-namespace"
	ServiceAccountAnnotation = "fleet.cattle.io/service-account"
	KeepResourcesAnnotation  = "fleet.cattle.io/keep-resources"
)

// Objects by which an agent is known on its cluster.
const (
	AgentName = "fleet-agent" // Secret, Deployment or StatefulSet in the agent's namespace
	// DefaultAccount is the service account that an agent works as, beside its own, where a bundle names none and there is one of that name.
	DefaultAccount = "fleet-default"
	// AgentScopeEnv is the agent's environment variable that enters every set id.
	AgentScopeEnv = "AGENT_SCOPE"
	// AgentSecretNamespaceKey is the key of the agent's Secret that names the namespace of its BundleDeployments.
	AgentSecretNamespaceKey = "deploymentNamespace"
	ControllerName          = "fleet-controller" // Deployment in the system namespace
)
