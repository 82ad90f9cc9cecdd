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

// BundleContents is the part of a Bundle that holds its files. It stands apart from Bundle, which is read often and without them.
type BundleContents struct {
	Spec struct {
		Resources []BundleResource `json:"resources,omitempty"`
		// ContentsID names the contents where they are stored in an OCI registry.
		ContentsID string `json:"contentsId,omitempty"`
		// HelmOpOptions are set where the agent downloads the chart, and HelmAppOptions in Fleet 0.12.
		HelmOpOptions  json.RawMessage `json:"helmOpOptions,omitempty"`
		HelmAppOptions json.RawMessage `json:"helmAppOptions,omitempty"`
	} `json:"spec,omitempty"`
}

// HelmOptions are the options of the release.
//
// +kubebuilder:pruning:PreserveUnknownFields
type HelmOptions struct {
	ReleaseName   string `json:"releaseName,omitempty"`
	TakeOwnership bool   `json:"takeOwnership,omitempty"`
	// Chart, Repo and Version say where the chart is: a path within the bundle, or something to download.
	Chart   string `json:"chart,omitempty"`
	Repo    string `json:"repo,omitempty"`
	Version string `json:"version,omitempty"`
	// Values hold secrets more often than not, and are only ever read to render a bundle. Newer Fleets keep them in a Secret instead.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Values json.RawMessage `json:"values,omitempty"`
	// ValuesFiles are merged into the values when the Bundle is made.
	ValuesFiles []string `json:"valuesFiles,omitempty"`
	// TemplateValues are rendered on the management cluster and then replace the values of the same key.
	TemplateValues map[string]string `json:"templateValues,omitempty"`
	// ValuesFrom are merged over the values by the agent, in this order.
	ValuesFrom              []ValuesFrom `json:"valuesFrom,omitempty"`
	DisablePreProcess       bool         `json:"disablePreProcess,omitempty"`
	DisableDNS              bool         `json:"disableDNS,omitempty"`
	SkipSchemaValidation    bool         `json:"skipSchemaValidation,omitempty"`
	DisableDependencyUpdate bool         `json:"disableDependencyUpdate,omitempty"`
	// Force makes Helm replace what it cannot change. It then does not apply on the server's side.
	Force bool `json:"force,omitempty"`
}

// ValuesFrom names objects with values. Where both are set, the Secret's values win.
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
	// Namespace is that of the release where it is empty.
	Namespace string `json:"namespace,omitempty"`
	// Key is "values.yaml" where it is empty.
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
	// Dir holds the kustomization.yaml.
	Dir string `json:"dir,omitempty"`
}

// DownstreamResource is a ConfigMap or Secret that is copied from the bundle's namespace.
//
// +kubebuilder:pruning:PreserveUnknownFields
type DownstreamResource struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}
