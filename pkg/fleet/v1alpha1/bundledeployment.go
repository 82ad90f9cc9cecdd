// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BundleDeployment is one bundle on one cluster. The agent of that cluster writes its status.
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

	// Size is the size of its JSON in bytes.
	Size int `json:"-"`
}

// BundleDeploymentSpec is the deployment that the controller requests from the agent.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleDeploymentSpec struct {
	Paused             bool    `json:"paused,omitempty"`
	OffSchedule        bool    `json:"offSchedule,omitempty"`
	DeploymentID       string  `json:"deploymentID,omitempty"`
	StagedDeploymentID string  `json:"stagedDeploymentID,omitempty"`
	Options            Options `json:"options,omitempty"`
	ValuesHash         string  `json:"valuesHash,omitempty"`
	// WaitingForValues is true while the agent must deploy nothing, because the values Secret is missing or is written
	// again.
	WaitingForValues bool `json:"waitingForValues,omitempty"`
	// DependsOn are the bundles that must be ready before the agent deploys this one.
	DependsOn []BundleRef `json:"dependsOn,omitempty"`
	// CorrectDrift decides whether the agent corrects drift. The controller copies it from the options.
	CorrectDrift *CorrectDrift `json:"correctDrift,omitempty"`
	// OCIContents is true if the contents are in a registry.
	OCIContents bool `json:"ociContents,omitempty"`
	// HelmChartOptions are set if the agent downloads the chart. Only their presence is read.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	HelmChartOptions json.RawMessage `json:"helmChartOptions,omitempty"`
}

// BundleRef names bundles, by name or by labels of their BundleDeployments in the same namespace.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleRef struct {
	Name     string                `json:"name,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// AcceptedStates are the states in which a bundle counts as ready; only Ready if it is empty.
	AcceptedStates []string `json:"acceptedStates,omitempty"`
}

// Options are the merged deployment options of one cluster.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Options struct {
	// DefaultNamespace is the namespace of the release, and of objects without a namespace.
	DefaultNamespace string `json:"defaultNamespace,omitempty"`
	// TargetNamespace, if set, is the namespace of every object.
	TargetNamespace string       `json:"namespace,omitempty"`
	Helm            *HelmOptions `json:"helm,omitempty"`
	// ServiceAccount is the name of the one with which the agent deploys, in the namespace of the agent.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// YAML and Kustomize select which contents are used, and how.
	YAML          *YAMLOptions      `json:"yaml,omitempty"`
	Kustomize     *KustomizeOptions `json:"kustomize,omitempty"`
	Diff          *DiffOptions      `json:"diff,omitempty"`
	Ignore        *IgnoreOptions    `json:"ignore,omitempty"`
	CorrectDrift  *CorrectDrift     `json:"correctDrift,omitempty"`
	KeepResources bool              `json:"keepResources,omitempty"`
	// ForceSyncGeneration makes Fleet deploy again when it changes.
	ForceSyncGeneration int64 `json:"forceSyncGeneration,omitempty"`
	// DeleteCRDResources makes an uninstall delete CRDs, which it otherwise keeps.
	DeleteCRDResources bool `json:"deleteCRDResources,omitempty"`
	// NamespaceLabels and NamespaceAnnotations are written to the namespace of the release.
	NamespaceLabels      map[string]string `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
	// DownstreamResources are copied to the cluster, into the namespace of the release.
	DownstreamResources []DownstreamResource `json:"downstreamResources,omitempty"`
	// Overwrites are the objects that the bundle takes from one of the same GitRepo, which fleet apply deleted in the
	// same run.
	Overwrites []OverwrittenResource `json:"overwrites,omitempty"`
}

// OverwrittenResource is an object of a bundle that was renamed.
//
// +kubebuilder:pruning:PreserveUnknownFields
type OverwrittenResource struct {
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// Copies reports whether Fleet itself copies a ConfigMap or Secret to the cluster before it deploys.
func (o *Options) Copies(kind, name string) bool {
	return slices.ContainsFunc(o.DownstreamResources, func(d DownstreamResource) bool {
		return d.Name == name && strings.EqualFold(d.Kind, kind)
	})
}

// ReleaseNamespace returns the namespace of the release. Source: docs/fleet-behavior.md, 1.4.
func (o *Options) ReleaseNamespace() string {
	return cmp.Or(o.TargetNamespace, o.DefaultNamespace, "default")
}

// DiffOptions exclude differences from the status.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DiffOptions struct {
	ComparePatches []ComparePatch `json:"comparePatches,omitempty"`
}

// ComparePatch excludes fields or objects from the comparison. Source: docs/fleet-behavior.md, 3.3.
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
	// Value is a string in Fleet's API. Here, any JSON is valid.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Value json.RawMessage `json:"value,omitempty"`
}

// IgnoreOptions list conditions that readiness ignores.
//
// +kubebuilder:pruning:PreserveUnknownFields
type IgnoreOptions struct {
	Conditions []map[string]string `json:"conditions,omitempty"`
}

// CorrectDrift makes the agent revert drift.
//
// +kubebuilder:pruning:PreserveUnknownFields
type CorrectDrift struct {
	Enabled bool `json:"enabled,omitempty"`
	Force   bool `json:"force,omitempty"`
}

// BundleDeploymentStatus is the status that the agent wrote last.
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
	// ListedCounts are the counts that follow from the lists, if there are no ResourceCounts; nil if the lists may be
	// truncated.
	ListedCounts *ResourceCounts `json:"-"`
	// Resources are the live objects that the agent owns, as a list of ObjectKeys. They are not kept.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Resources json.RawMessage `json:"resources,omitempty"`
}

// NonReadyStatus is an object that the agent reports as not ready.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NonReadyStatus struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Summary says why it is not ready.
	Summary ObjectSummary `json:"summary,omitempty"`
}

// ObjectSummary is the readiness of a live object.
type ObjectSummary struct {
	// Message may quote values of Secrets.
	Message []string `json:"message,omitempty"`
}

// Key is the identity of the object.
func (s *NonReadyStatus) Key() ObjectKey {
	return ObjectKey{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
}

// Words are the messages as one text.
func (s *NonReadyStatus) Words() string { return strings.Join(s.Summary.Message, "; ") }

// BundleResource is one file of a bundle, in a Bundle's spec.resources and in the document of a Content.
//
// +kubebuilder:pruning:PreserveUnknownFields
type BundleResource struct {
	// Name is the file's path within the bundle.
	Name    string `json:"name,omitempty"`
	Content string `json:"content,omitempty"`
	// Encoding of the content: empty, "base64" or "base64+gz".
	Encoding string `json:"encoding,omitempty"`
}

// BundleContents is the part of a Bundle with its files. It is separate from Bundle, which is read more often and
// without the files.
type BundleContents struct {
	Spec struct {
		Resources []BundleResource `json:"resources,omitempty"`
	} `json:"spec,omitempty"`
}

// HelmOptions are the options of the release.
//
// +kubebuilder:pruning:PreserveUnknownFields
type HelmOptions struct {
	ReleaseName   string `json:"releaseName,omitempty"`
	TakeOwnership bool   `json:"takeOwnership,omitempty"`
	// Chart, Repo and Version name the chart: a path within the bundle, or a chart to download.
	Chart   string `json:"chart,omitempty"`
	Repo    string `json:"repo,omitempty"`
	Version string `json:"version,omitempty"`
	// Values often contain secrets. They are read only to render a bundle. Newer versions of Fleet keep them in a
	// Secret.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Values json.RawMessage `json:"values,omitempty"`
	// ValuesFiles are merged into the values when Fleet creates the Bundle.
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// TemplateValues are rendered on the management cluster, and then replace the values with the same key.
	TemplateValues map[string]string `json:"templateValues,omitempty"`
	// The agent merges ValuesFrom over the values, in this order.
	ValuesFrom              []ValuesFrom `json:"valuesFrom,omitempty"`
	DisablePreProcess       bool         `json:"disablePreProcess,omitempty"`
	SkipSchemaValidation    bool         `json:"skipSchemaValidation,omitempty"`
	DisableDependencyUpdate bool         `json:"disableDependencyUpdate,omitempty"`
	// Force makes Helm replace objects that it cannot change. Helm then does not use server-side apply.
	Force bool `json:"force,omitempty"`
}

// ValuesFrom names objects with values. If both are set, the values of the Secret have precedence.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ValuesFrom struct {
	ConfigMapKeyRef *ValuesKey `json:"configMapKeyRef,omitempty"`
	SecretKeyRef    *ValuesKey `json:"secretKeyRef,omitempty"`
}

// ValuesKey is a key of a ConfigMap or Secret on the cluster of the deployment.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ValuesKey struct {
	Name string `json:"name,omitempty"`
	// Namespace is the namespace of the release if it is empty.
	Namespace string `json:"namespace,omitempty"`
	// Key is "values.yaml" if it is empty.
	Key string `json:"key,omitempty"`
}

// YAMLOptions are the options of a bundle of plain manifests.
//
// +kubebuilder:pruning:PreserveUnknownFields
type YAMLOptions struct {
	// Overlays are names of directories below overlays/, applied in this order.
	Overlays []string `json:"overlays,omitempty"`
}

// KustomizeOptions are the options of a bundle with a kustomization.
//
// +kubebuilder:pruning:PreserveUnknownFields
type KustomizeOptions struct {
	// Dir contains the kustomization.yaml.
	Dir string `json:"dir,omitempty"`
}

// DownstreamResource is a ConfigMap or Secret that is copied from the bundle's namespace.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DownstreamResource struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}
