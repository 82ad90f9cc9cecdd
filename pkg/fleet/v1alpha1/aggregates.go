// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"

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
