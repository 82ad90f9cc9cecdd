// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleDeployment is one bundle on one cluster; its status is what that cluster's agent reports.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	Spec BundleDeploymentSpec `json:"spec,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Status BundleDeploymentStatus `json:"status,omitempty"`
}

// BundleDeploymentSpec is what the controller asks of the agent.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeploymentSpec struct {
	Paused             bool    `json:"paused,omitempty"`
	OffSchedule        bool    `json:"offSchedule,omitempty"`
	DeploymentID       string  `json:"deploymentID,omitempty"`
	StagedDeploymentID string  `json:"stagedDeploymentID,omitempty"`
	Options            Options `json:"options,omitempty"`
	ValuesHash         string  `json:"valuesHash,omitempty"`
	WaitingForValues   bool    `json:"waitingForValues,omitempty"`
	// OCIContents says that the contents are in a registry.
	OCIContents bool `json:"ociContents,omitempty"`
	// HelmChartOptions are set where the agent downloads the chart. Only that they are there matters.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	HelmChartOptions json.RawMessage `json:"helmChartOptions,omitempty"`
}

// Options are the merged deployment options of one cluster.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Options struct {
	// DefaultNamespace is the release namespace, and that of objects that name none.
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// TargetNamespace, where set, is the namespace of every object.
	TargetNamespace string       `json:"namespace,omitempty"`
	Helm            *HelmOptions `json:"helm,omitempty"`
	// YAML and Kustomize say which of the contents are used, and how.
	YAML          *YAMLOptions      `json:"yaml,omitempty"`
	Kustomize     *KustomizeOptions `json:"kustomize,omitempty"`
	Diff          *DiffOptions      `json:"diff,omitempty"`
	Ignore        *IgnoreOptions    `json:"ignore,omitempty"`
	CorrectDrift  *CorrectDrift     `json:"correctDrift,omitempty"`
	KeepResources bool              `json:"keepResources,omitempty"`
	// ForceSyncGeneration makes Fleet deploy again when it changes.
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
	// DeleteCRDResources lets an uninstall delete CRDs, which it otherwise keeps.
	DeleteCRDResources bool `json:"deleteCRDResources,omitempty"`
	// DownstreamResources are copied to the cluster, into the release's namespace.
	DownstreamResources []DownstreamResource `json:"downstreamResources,omitempty"`
}

// DiffOptions say which differences the bundle does not want to hear of.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DiffOptions struct {
	ComparePatches []ComparePatch `json:"comparePatches,omitempty"`
}

// ComparePatch changes what is compared, or takes objects out of the comparison.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ComparePatch struct {
	APIVersion   string             `json:"apiVersion,omitempty"`
	Kind         string             `json:"kind,omitempty"`
	Namespace    string             `json:"namespace,omitempty"`
	Name         string             `json:"name,omitempty"`
	JSONPointers []string           `json:"jsonPointers,omitempty"`
	Operations   []CompareOperation `json:"operations,omitempty"`
}

// CompareOperation is a JSON patch operation, or "ignore".
//
// +kubebuilder:pruning:PreserveUnknownFields
type CompareOperation struct {
	Op   string `json:"op,omitempty"`
	Path string `json:"path,omitempty"`
	// Value is a string in Fleet's API; any JSON is taken here.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Value json.RawMessage `json:"value,omitempty"`
}

// IgnoreOptions name conditions that do not count for readiness.
//
// +kubebuilder:pruning:PreserveUnknownFields
type IgnoreOptions struct {
	Conditions []map[string]string `json:"conditions,omitempty"`
}

// CorrectDrift lets the agent roll drift back.
//
// +kubebuilder:pruning:PreserveUnknownFields
type CorrectDrift struct {
	Enabled bool `json:"enabled,omitempty"`
	Force   bool `json:"force,omitempty"`
}

// BundleDeploymentStatus is what the agent last said.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeploymentStatus struct {
	Conditions          []Condition      `json:"conditions,omitempty"`
	AppliedDeploymentID string           `json:"appliedDeploymentID,omitempty"`
	Release             string           `json:"release,omitempty"`
	Ready               bool             `json:"ready,omitempty"`
	NonModified         bool             `json:"nonModified,omitempty"`
	NonReadyStatus      []NonReadyStatus `json:"nonReadyStatus,omitempty"`
	ModifiedStatus      []ModifiedStatus `json:"modifiedStatus,omitempty"`
	IncompleteState     bool             `json:"incompleteState,omitempty"`
	Display             Display          `json:"display,omitempty"`
	// ResourceCounts is nil before Fleet 0.12.
	ResourceCounts *ResourceCounts `json:"resourceCounts,omitempty"`
}

// Display is what kubectl get shows.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Display struct {
	State         string `json:"state,omitempty"`
	ReadyClusters string `json:"readyClusters,omitempty"`
	ReadyBundles  string `json:"readyBundles,omitempty"`
}

// NonReadyStatus is an object that the agent calls not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyStatus struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// ModifiedStatus is an object that the agent calls modified, missing or extra. Patch shows desired values, a Secret's too.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ModifiedStatus struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Create     bool   `json:"missing,omitempty"`
	Exist      bool   `json:"exist,omitempty"`
	Delete     bool   `json:"delete,omitempty"`
	Patch      string `json:"patch,omitempty"`
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

// Condition is Fleet's condition; its times are strings.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Condition struct {
	Type           string `json:"type,omitempty"`
	Status         string `json:"status,omitempty"`
	Reason         string `json:"reason,omitempty"`
	Message        string `json:"message,omitempty"`
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`
}
