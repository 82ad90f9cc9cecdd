// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "encoding/json"

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
