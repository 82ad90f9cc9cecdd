// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// NonReadyResource is one of the first ten BundleDeployments that are not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyResource struct {
	Name           string           `json:"name,omitempty"`
	State          string           `json:"bundleState,omitempty"`
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
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

// RepoResource is one object of a GitRepo or HelmOp, on all clusters.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoResource struct {
	State string `json:"state,omitempty"`
}

// Bundle is a set of manifests with its target clusters. BundleContents has its files.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec BundleSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status Status `json:"status,omitempty"`

	// Size is the size of its JSON in bytes, if that may be large.
	Size int `json:"-"`
}

// GitRepo is a Git repository that Fleet deploys.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitrepos
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec GitRepoSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status GitRepoStatus `json:"status,omitempty"`

	// SpecWritten is when the spec was last written; zero if it is not known.
	SpecWritten time.Time `json:"-"`
}

// GitRepoSpec has the fields of a GitRepo's spec that are read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepoSpec struct {
	// ForceSyncGeneration makes Fleet deploy every bundle of the GitRepo again when it changes.
	ForceSyncGeneration int64  `json:"forceSyncGeneration,omitempty"`
	Repo                string `json:"repo,omitempty"`
	// PollingInterval is a Go duration; 15 seconds if it is empty.
	PollingInterval string `json:"pollingInterval,omitempty"`
	DisablePolling  bool   `json:"disablePolling,omitempty"`
	// Bundles are the directories and options files of which bundles are made; then no directory is searched for them.
	// Only their number is read.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Bundles []json.RawMessage `json:"bundles,omitempty"`
	// Targets select the clusters; without any, those of the ClusterGroup default.
	Targets      []ClusterTarget `json:"targets,omitempty"`
	RepoDeletion `json:",inline"`
	Paused       bool `json:"paused,omitempty"`
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
	Status Status `json:"status,omitempty"`
}

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
