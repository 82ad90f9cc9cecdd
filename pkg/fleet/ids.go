// SPDX-License-Identifier: Apache-2.0

// Package fleet has the labels and annotations that Fleet writes, and the ids, hashes, names and versions that it
// computes. All functions are pure.
package fleet

import (
	"crypto/md5"  // not for security: it is in names
	"crypto/sha1" // not for security: it is the label's value
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	setIDPrefix    = "default" // a constant in every agent, not the option defaultNamespace
	agentPrefix    = "fleet-agent"
	agentSetID     = "fleet-agent-bootstrap"
	maxName        = 64 // SafeConcat shortens names of this many bytes and more
	maxReleaseName = 53 // Helm's limit
	// DefaultNamespace is the namespace of a release if the bundle names none.
	DefaultNamespace = "default"
)

// SetID returns the id of the set of objects that a BundleDeployment deploys. scope is the agent's AGENT_SCOPE, usually
// empty. Every BundleDeployment with a name that begins with "fleet-agent" has the id of the agent's own set. Source:
// docs/fleet-behavior.md, 1.1.
func SetID(bundleDeployment, scope string) string {
	parts := []string{setIDPrefix, bundleDeployment}
	if IsAgentBundle(bundleDeployment) {
		parts = []string{agentSetID}
	}
	if scope != "" {
		parts = append(parts, scope)
	}
	return SafeConcat(parts...)
}

// ScopeOfSet returns the agent scope with which SetID returns this set id for a BundleDeployment. A long set id is
// shortened and does not contain the scope; then ScopeOfSet tries the candidates. ok is false if no scope is found.
func ScopeOfSet(setID, bundleDeployment string, candidates ...string) (scope string, ok bool) {
	for _, c := range append([]string{""}, candidates...) {
		if SetID(bundleDeployment, c) == setID {
			return c, true
		}
	}
	scope, ok = strings.CutPrefix(setID, SetID(bundleDeployment, "")+"-")
	return scope, ok && len(setID) < maxName-1 // a shortened set id has exactly that length
}

// IsAgentBundle reports whether Fleet treats a BundleDeployment with this name as that of its agent.
func IsAgentBundle(bundleDeployment string) bool {
	return strings.HasPrefix(bundleDeployment, agentPrefix)
}

// Hash returns the value of HashLabel for a set id of an agent: 40 hexadecimal digits.
// Source: docs/fleet-behavior.md, 1.2. The agent sets no owner annotations, which would change the hash.
func Hash(setID string) string { return HashOf(setID, "", "", "") }

// HashOf returns the hash of a set that can have an owner, as the sets of Fleet's controllers have.
func HashOf(setID, ownerGVK, ownerName, ownerNamespace string) string {
	sum := sha1.Sum([]byte(setID + ownerGVK + ownerName + ownerNamespace))
	return hex.EncodeToString(sum[:])
}

// IsBundleSet reports whether a set id can be that of a bundle. Other programs, such as Rancher and K3s, use other ids
// with the same labels and annotations.
func IsBundleSet(setID string) bool { return strings.HasPrefix(setID, setIDPrefix+"-") }

// IsFleetsOwnSet reports whether Fleet's controllers or the installation of its agent apply the set.
func IsFleetsOwnSet(setID string) bool {
	return strings.HasPrefix(setID, "fleet-bootstrap") || strings.HasPrefix(setID, agentSetID) ||
		setID == ManageAgentSet
}

// SafeConcat joins parts with "-", and shortens the result to 63 bytes if it has 64 or more. It counts bytes, not
// characters.
func SafeConcat(parts ...string) string {
	name := strings.Join(parts, "-")
	if len(name) < maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])
	if last := name[maxName-8 : maxName-7]; strings.Trim(last, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
		return name[:maxName-7] + "-" + digest[:5]
	}
	return name[:maxName-8] + "-" + digest[:6]
}

// JobName returns the name of the Job of a GitRepo, by its name and by its repository followed by the commit.
func JobName(repo, address string) string {
	return SafeConcat(repo, md5Hex(address)[:5])
}

// RegisteredName returns the name of the Cluster that the controller creates when an agent registers itself with this
// clientID. Source: docs/fleet-behavior.md, 7.2.
func RegisteredName(clientID string) string { return "cluster-" + keyHash(clientID) }

// ClusterNamespace returns the name of the namespace that the controller makes for the BundleDeployments of a Cluster.
// Source: docs/fleet-behavior.md, 1.5.
func ClusterNamespace(namespace, name string) string {
	return SafeConcat("cluster", namespace, name, keyHash(namespace+"::"+name))
}

// keyHash returns 12 hexadecimal digits of the hash of a key.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key[:min(len(key), 100)]))
	return hex.EncodeToString(sum[:])[:12]
}

var (
	releaseUnclean = regexp.MustCompile(`[^a-zA-Z0-9-]+`)
	releaseDashes  = regexp.MustCompile(`-+`)
	releaseValid   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// HelmReleaseName converts any name to a valid name for Helm: at most 53 bytes of a-z, 0-9 and "-". Source:
// docs/fleet-behavior.md, 1.4.
func HelmReleaseName(name string) string {
	s := strings.ReplaceAll(name, "/", "-")
	if s != strings.ToLower(s) || releaseUnclean.MatchString(s) {
		s += "-" + md5Hex(s)[:8]
	}
	s = releaseUnclean.ReplaceAllString(strings.ToLower(s), "-")
	s = strings.Trim(releaseDashes.ReplaceAllString(s, "-"), "-")
	if !releaseValid.MatchString(s) {
		return md5Hex(name)[:24]
	}
	return limit(s, maxReleaseName)
}

// ManifestID returns the manifest id for the checksum of a manifest document, in hexadecimal. Source:
// docs/fleet-behavior.md, 2.1.
func ManifestID(sum string) string {
	id := "s-" + sum
	return id[:min(len(id), maxName-1)]
}

// limit shortens s to n bytes. The last of them are a digest of s.
func limit(s string, n int) string {
	const digest = 5
	if len(s) <= n {
		return s
	}
	if n <= digest+1 {
		return s[:n]
	}
	return strings.TrimSuffix(s[:n-digest-1], "-") + "-" + md5Hex(s)[:digest]
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

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
