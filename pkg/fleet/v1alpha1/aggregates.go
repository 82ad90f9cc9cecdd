// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Summary counts BundleDeployments by state.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Summary struct {
	NotReady          int                `json:"notReady,omitempty"`
	WaitApplied       int                `json:"waitApplied,omitempty"`
	ErrApplied        int                `json:"errApplied,omitempty"`
	OutOfSync         int                `json:"outOfSync,omitempty"`
	Modified          int                `json:"modified,omitempty"`
	Ready             int                `json:"ready,omitempty"`
	Pending           int                `json:"pending,omitempty"`
	DesiredReady      int                `json:"desiredReady,omitempty"`
	NonReadyResources []NonReadyResource `json:"nonReadyResources,omitempty"`
}

// NonReadyResource is one of the first ten that are not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyResource struct {
	Name           string           `json:"name,omitempty"`
	State          string           `json:"bundleState,omitempty"`
	ModifiedStatus []ModifiedStatus `json:"modifiedStatus,omitempty"`
}

// Bundle is a set of manifests with its target clusters. Its resources are never read here.
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
	Status BundleStatus `json:"status,omitempty"`
}

// BundleSpec is the part of a Bundle's spec that the audit reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleSpec struct {
	Paused bool `json:"paused,omitempty"`
}

// BundleStatus is the controller's summary of a Bundle's deployments.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleStatus struct {
	Conditions         []Condition `json:"conditions,omitempty"`
	Summary            Summary     `json:"summary,omitempty"`
	Display            Display     `json:"display,omitempty"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
}

// GitRepo is a Git repository that Fleet follows.
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
	Status RepoStatus `json:"status,omitempty"`
}

// GitRepoSpec is the part of a GitRepo's spec that is read.
//
// +kubebuilder:pruning:PreserveUnknownFields
type GitRepoSpec struct {
	// ForceSyncGeneration makes Fleet deploy every bundle of the GitRepo again when it changes.
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
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
	Status RepoStatus `json:"status,omitempty"`
}

// RepoStatus is the status that GitRepos and HelmOps share.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RepoStatus struct {
	Commit               string  `json:"commit,omitempty"`
	ReadyClusters        int     `json:"readyClusters,omitempty"`
	DesiredReadyClusters int     `json:"desiredReadyClusters,omitempty"`
	Summary              Summary `json:"summary,omitempty"`
	Display              Display `json:"display,omitempty"`
	// ResourceCounts is nil where none were ever written.
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`
	Conditions     []Condition     `json:"conditions,omitempty"`
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

// ClusterSpec is the part of a Cluster's spec that the audit reads.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterSpec struct {
	Paused bool `json:"paused,omitempty"`
	// KubeConfigSecret is set where the manager installed the agent.
	KubeConfigSecret string `json:"kubeConfigSecret,omitempty"`
	// AgentNamespace is, verbatim, the scope of a manager-initiated agent.
	AgentNamespace string `json:"agentNamespace,omitempty"`
}

// ClusterStatus is the controller's summary of a cluster's deployments.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterStatus struct {
	// Namespace holds the cluster's BundleDeployments.
	Namespace            string         `json:"namespace,omitempty"`
	Summary              Summary        `json:"summary,omitempty"`
	ResourceCounts       ResourceCounts `json:"resourceCounts,omitempty"`
	ReadyGitRepos        int            `json:"readyGitRepos,omitempty"`
	DesiredReadyGitRepos int            `json:"desiredReadyGitRepos,omitempty"`
	Display              Display        `json:"display,omitempty"`
	Agent                AgentStatus    `json:"agent,omitempty"`
}

// AgentStatus is the agent's heartbeat.
//
// +kubebuilder:pruning:PreserveUnknownFields
type AgentStatus struct {
	LastSeen  string `json:"lastSeen,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// ClusterGroup is a group of clusters by label.
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

// ClusterGroupSpec says which clusters are members.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterGroupSpec struct {
	// Selector selects Clusters of the namespace of the group by their labels; without one the group has no member.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ClusterGroupStatus is the sum of the statuses of the member clusters.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterGroupStatus struct {
	ClusterCount   int            `json:"clusterCount,omitempty"`
	Summary        Summary        `json:"summary,omitempty"`
	ResourceCounts ResourceCounts `json:"resourceCounts,omitempty"`
	Display        Display        `json:"display,omitempty"`
	Conditions     []Condition    `json:"conditions,omitempty"`
}

// Content is a bundle's manifests, shared by all deployments of it. Its name is the manifest id.
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
	// SHA256Sum is that of the document before it was gzipped, in hexadecimal.
	SHA256Sum string `json:"sha256sum,omitempty"`
}

// ClusterRegistrationToken lets agents register. Nothing of it is read; captured clusters have some.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type ClusterRegistrationToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
