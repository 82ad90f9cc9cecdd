// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is a cluster that Fleet manages.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ClusterSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec has the fields of a Cluster's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterSpec struct {
	// KubeConfigSecret is set if the management cluster installed the agent.
	KubeConfigSecret string `json:"kubeConfigSecret,omitempty"`
	// AgentNamespace is, unchanged, the scope of an agent that the management cluster installed.
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// Paused pauses every BundleDeployment of the cluster.
	Paused bool `json:"paused,omitempty"`
	// TemplateValues are those of the templates in the values of bundles.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	TemplateValues json.RawMessage `json:"templateValues,omitempty"`
	AgentSettings  `json:",inline"`
}

// ClusterStatus is the controller's summary of a cluster's deployments.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterStatus struct {
	// Scheduled is true if a Schedule selects the cluster. Then bundles are deployed only while ActiveSchedule is true.
	Scheduled      bool `json:"scheduled,omitempty"`
	ActiveSchedule bool `json:"activeSchedule,omitempty"`
	// Namespace contains the BundleDeployments of the cluster.
	Namespace      string         `json:"namespace,omitempty"`
	Summary        Summary        `json:"summary,omitempty"`
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
	Display        Display        `json:"display,omitempty"`
	Agent          AgentStatus    `json:"agent,omitempty"`
	AgentRecord    `json:",inline"`
	// DesiredReadyGitRepos are the GitRepos that are deployed to the cluster; nil if Fleet has never written it.
	DesiredReadyGitRepos *int `json:"desiredReadyGitRepos,omitempty"`
	ReadyGitRepos        int  `json:"readyGitRepos,omitempty"`
	// DesiredReadyHelmOps are the HelmOps that are deployed to the cluster, from Fleet 0.13 on.
	DesiredReadyHelmOps *int `json:"desiredReadyHelmOps,omitempty"`
	ReadyHelmOps        int  `json:"readyHelmOps,omitempty"`
}

// AgentStatus is the agent's heartbeat.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentStatus struct {
	LastSeen  string `json:"lastSeen,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// ClusterGroup is a group of Clusters, selected by their labels.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec ClusterGroupSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status ClusterGroupStatus `json:"status,omitempty"`
}

// ClusterGroupStatus is the status of a ClusterGroup. Source: docs/fleet-behavior.md, 4.4.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterGroupStatus struct {
	Status `json:",inline"`

	// ClusterCount is the number of Clusters in the group; nil if Fleet has never written it.
	ClusterCount         *int `json:"clusterCount,omitempty"`
	NonReadyClusterCount int  `json:"nonReadyClusterCount,omitempty"`
	// NonReadyClusters are the names of the first ten Clusters that are not ready.
	NonReadyClusters []string `json:"nonReadyClusters,omitempty"`
}

// ClusterGroupSpec selects the Clusters of a group.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterGroupSpec struct {
	// Selector selects Clusters in the namespace of the group by their labels. A group without a selector has no
	// Clusters.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// HelmOp is a Helm chart that Fleet deploys without Git.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type HelmOp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec HelmOpSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status Status `json:"status,omitempty"`
}

// HelmOpSpec has the fields of a HelmOp's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type HelmOpSpec struct {
	// PollingInterval is a Go duration. Without one, the repository is not polled.
	PollingInterval string `json:"pollingInterval,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Helm HelmOpChart `json:"helm,omitempty"`
}

// HelmOpChart has the chart of a HelmOp.
//
// +kubebuilder:pruning:PreserveUnknownFields
type HelmOpChart struct {
	Chart string `json:"chart,omitempty"`
	// Version may be a range.
	Version string `json:"version,omitempty"`
}

// Content has the manifests of a bundle. All deployments of the bundle share it. Its name is the manifest id.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:pruning:PreserveUnknownFields
type Content struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Content is the gzipped manifest document.
	Content []byte `json:"content,omitempty"`
	// SHA256Sum is the hexadecimal checksum of the document before it was gzipped.
	SHA256Sum string `json:"sha256sum,omitempty"`
}

// Status has the fields that the statuses of Bundle, GitRepo, HelmOp and ClusterGroup share.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Status struct {
	Summary Summary `json:"summary,omitempty"`
	Display Display `json:"display,omitempty"`
	// ResourceCounts is nil if Fleet has never written it. A Bundle has none.
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`
	Conditions     []Condition     `json:"conditions,omitempty"`
	// ObservedGeneration is the generation of the spec from which the status was computed. A ClusterGroup has none.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ResourcesSHA256Sum is, in a Bundle whose contents are a Content, the checksum of the manifest document.
	ResourcesSHA256Sum string `json:"resourcesSha256Sum,omitempty"`

	// The following fields are those of a GitRepo or HelmOp: the clusters of its BundleDeployments.
	DesiredReadyClusters *int `json:"desiredReadyClusters,omitempty"`
	ReadyClusters        int  `json:"readyClusters,omitempty"`
	// PerCluster are the object counts of each cluster ("namespace/name"), from Fleet 0.12 on.
	PerCluster map[string]ResourceCounts `json:"perClusterResourceCounts,omitempty"`
	// Resources are the objects on all clusters.
	Resources []RepoResource `json:"resources,omitempty"`
}

// Summary counts BundleDeployments by state.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Summary struct {
	Ready        int `json:"ready,omitempty"`
	DesiredReady int `json:"desiredReady,omitempty"`
	NotReady     int `json:"notReady,omitempty"`
	WaitApplied  int `json:"waitApplied,omitempty"`
	ErrApplied   int `json:"errApplied,omitempty"`
	OutOfSync    int `json:"outOfSync,omitempty"`
	Modified     int `json:"modified,omitempty"`
	// Pending counts the targets of a Bundle without a BundleDeployment.
	Pending           int                `json:"pending,omitempty"`
	NonReadyResources []NonReadyResource `json:"nonReadyResources,omitempty"`
}

// Sum returns the number of BundleDeployments in all states. Fleet newer than this program can have other states.
func (s *Summary) Sum() int {
	return s.Ready + s.NotReady + s.WaitApplied + s.ErrApplied + s.OutOfSync + s.Modified + s.Pending
}

// NonReadyResource is one of the first ten BundleDeployments that are not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyResource struct {
	Name           string           `json:"name,omitempty"`
	State          string           `json:"bundleState,omitempty"`
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
}

// RepoResource is one object of a GitRepo or HelmOp, on all clusters.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoResource struct {
	State string `json:"state,omitempty"`
}

// Display has the columns of kubectl get.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Display struct {
	State string `json:"state,omitempty"`
}

// Condition is a condition of one of Fleet's own objects. Its time is a string.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Condition struct {
	Type           string `json:"type,omitempty"`
	Status         string `json:"status,omitempty"`
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`
	Reason         string `json:"reason,omitempty"`
	// Message may quote values of Secrets.
	Message string `json:"message,omitempty"`
}

// ConditionOf returns the condition of a type; zero if it is not found.
func ConditionOf(all []Condition, kind string) Condition {
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return Condition{}
}

// newest returns the newest time among conditions, empty if none has a time. RFC 3339 in UTC sorts as text.
func newest(conditions []Condition) string {
	out := ""
	for _, c := range conditions {
		out = max(out, c.LastUpdateTime)
	}
	return out
}

// ResourceCounts are the agent's counts of objects.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ResourceCounts struct {
	DesiredReady int `json:"desiredReady,omitempty"`
	Ready        int `json:"ready,omitempty"`
	WaitApplied  int `json:"waitApplied,omitempty"`
	Modified     int `json:"modified,omitempty"`
	Orphaned     int `json:"orphaned,omitempty"`
	Missing      int `json:"missing,omitempty"`
	Unknown      int `json:"unknown,omitempty"`
	NotReady     int `json:"notReady,omitempty"`
}

// Plus returns the field-wise sum.
func (c ResourceCounts) Plus(o ResourceCounts) ResourceCounts {
	return ResourceCounts{
		DesiredReady: c.DesiredReady + o.DesiredReady, Ready: c.Ready + o.Ready, WaitApplied: c.WaitApplied +
			o.WaitApplied,
		Modified: c.Modified + o.Modified, Orphaned: c.Orphaned + o.Orphaned, Missing: c.Missing + o.Missing,
		Unknown:  c.Unknown + o.Unknown,
		NotReady: c.NotReady + o.NotReady,
	}
}

// ModifiedStatus is an object that the agent reports as modified, missing or extra. Patch has the desired values, also
// those of a Secret.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ModifiedStatus struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Patch      string `json:"patch,omitempty"`
	// Missing is true if the agent does not own a live object with that name; Exist if there is one that it does not
	// own.
	Missing bool `json:"missing,omitempty"`
	Exist   bool `json:"exist,omitempty"`
	// Delete is true if the object is no longer desired.
	Delete bool `json:"delete,omitempty"`
}

// Key identifies the object.
func (m *ModifiedStatus) Key() ObjectKey {
	return ObjectKey{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}

// ObjectKey identifies an object in the lists of a status. Objects in two versions of a kind have two keys.
type ObjectKey struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// AgentSettings are the fields of a Cluster's spec that decide whether its agent is imported again. The settings that
// the controller hashes are kept as JSON: they may contain credentials and are only hashed.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentSettings struct {
	// KubeConfigSecretNamespace is the namespace of the kubeconfig Secret; empty for the namespace of the Cluster.
	KubeConfigSecretNamespace string `json:"kubeConfigSecretNamespace,omitempty"`
	ClientID                  string `json:"clientID,omitempty"`
	// RedeployAgentGeneration causes an import when it changes.
	RedeployAgentGeneration int64  `json:"redeployAgentGeneration,omitempty"`
	PrivateRepoURL          string `json:"privateRepoURL,omitempty"`
	HostNetwork             *bool  `json:"hostNetwork,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentEnvVars json.RawMessage `json:"agentEnvVars,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentTolerations json.RawMessage `json:"agentTolerations,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentAffinity json.RawMessage `json:"agentAffinity,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentResources json.RawMessage `json:"agentResources,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	AgentSchedulingCustomization json.RawMessage `json:"agentSchedulingCustomization,omitempty"`
}

// AgentRecord is what the controller recorded in the status of a Cluster when it imported the agent.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentRecord struct {
	// AgentDeployedGeneration is nil if the agent was never imported.
	AgentDeployedGeneration *int64 `json:"agentDeployedGeneration,omitempty"`
	AgentMigrated           bool   `json:"agentMigrated,omitempty"`
	AgentNamespaceMigrated  bool   `json:"agentNamespaceMigrated,omitempty"`
	CattleNamespaceMigrated bool   `json:"cattleNamespaceMigrated,omitempty"`
	// AgentConfigChanged marks a Cluster that the controller is about to import again.
	AgentConfigChanged bool `json:"agentConfigChanged,omitempty"`

	APIServerURL    string `json:"apiServerURL,omitempty"`
	APIServerCAHash string `json:"apiServerCAHash,omitempty"`
	AgentTLSMode    string `json:"agentTLSMode,omitempty"`
	// GarbageCollectionInterval is a duration ("15m"); nil if the controller did not record it.
	GarbageCollectionInterval *string `json:"garbageCollectionInterval,omitempty"`

	AgentEnvVarsHash                 string `json:"agentEnvVarsHash,omitempty"`
	AgentAffinityHash                string `json:"agentAffinityHash,omitempty"`
	AgentResourcesHash               string `json:"agentResourcesHash,omitempty"`
	AgentTolerationsHash             string `json:"agentTolerationsHash,omitempty"`
	AgentSchedulingCustomizationHash string `json:"agentSchedulingCustomizationHash,omitempty"`
	AgentPrivateRepoURL              string `json:"agentPrivateRepoURL,omitempty"`
	AgentHostNetwork                 bool   `json:"agentHostNetwork,omitempty"`

	Conditions []Condition `json:"conditions,omitempty"`
}

// LastChange is the newest time that is recorded in the conditions of a Cluster; empty without a recorded time.
func (r *AgentRecord) LastChange() string { return newest(r.Conditions) }
