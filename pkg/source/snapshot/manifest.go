// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// The type of a manifest.
const (
	ManifestAPIVersion = "fleetdoctor.io/v1alpha1"
	ManifestKind       = "Snapshot"

	// RenderingKind is the kind of a document with the result of rendering a bundle.
	RenderingKind = "Rendering"

	manifestGroup = "fleetdoctor.io"
)

// CapturedAnnotation marks an object of which not all fields were captured. Its value is CapturedMetadata: the metadata
// were captured, and those other fields that an audit reads.
const (
	CapturedAnnotation = manifestGroup + "/captured"
	CapturedMetadata   = "metadata"
)

// Rendering is a document with the result of rendering a bundle, named like its BundleDeployment.
type Rendering struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace,omitempty"`
		Name      string `json:"name"`
	} `json:"metadata"`
	source.Rendering
}

// Key is the key of the bundle deployment: "namespace/name", or the name if it is only known by its release.
func (r *Rendering) Key() string { return path.Join(r.Metadata.Namespace, r.Metadata.Name) }

// Manifest states what a snapshot has, so that nothing must be guessed from its objects. The verb snapshot writes it as
// the last file: a truncated snapshot has none. It is an API: fields are added, never renamed.
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the data. Earliest is true if the data may be later.
	TakenAt  time.Time `json:"takenAt"`
	Earliest bool      `json:"earliest,omitempty"`
	// Complete is true if the snapshot was taken from a live cluster. Otherwise it was taken from a capture that may
	// lack objects without stating it.
	Complete bool     `json:"complete"`
	Versions Versions `json:"versions"`
	// Masked counts what was masked; nil if no value is masked.
	Masked *Masked `json:"masked,omitempty"`
	// Bundles is true if the payloads of bundles were captured too.
	Bundles bool `json:"bundles,omitempty"`
	// Captured are the kinds of which objects were captured.
	Captured []Captured `json:"captured"`
	// Gaps is the data that could not be read. Notes are notes about the source.
	Gaps  []Gap    `json:"gaps"`
	Notes []string `json:"notes,omitempty"`
	// Resources are the kinds that can be listed. The first version of a kind is the preferred one.
	Resources []Resource `json:"resources"`
	// UnknownGroups are the API groups, with their versions, that did not answer.
	UnknownGroups map[string]source.Failure `json:"unknownGroups,omitempty"`
	// NotListed is the meaning of a kind that is not among the resources.
	NotListed source.Failure `json:"notListed"`
	// Unmasked has the results that masking would change.
	Unmasked *source.Unmasked `json:"unmasked,omitempty"`
}

// Versions are the versions of the programs.
type Versions struct {
	Tool       string `json:"tool"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// FleetController and FleetAgents, by namespace, are the image tags of Fleet's programs.
	FleetController string            `json:"fleetController,omitempty"`
	FleetAgents     map[string]string `json:"fleetAgents,omitempty"`
}

// Masked counts what was masked.
type Masked struct {
	// Objects are the objects that are Secrets or contain them, Values the different values.
	Objects int `json:"objects"`
	Values  int `json:"values"`
}

// Captured is a kind of which objects were captured.
type Captured struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Objects is the number of objects.
	Objects int `json:"objects"`
	// LabelSelector selects the objects that were listed; empty if all were.
	LabelSelector string `json:"labelSelector,omitempty"`
	// Everywhere is true if the list yielded all objects, except in the namespaces with a failure. Otherwise it yielded
	// those of Namespaces, and Elsewhere is the failure of the others. Namespace "" stands for cluster-scoped objects.
	Everywhere bool                      `json:"everywhere,omitempty"`
	Namespaces []string                  `json:"namespaces,omitempty"`
	Failures   map[string]source.Failure `json:"failures,omitempty"`
	Elsewhere  *source.Failure           `json:"elsewhere,omitempty"`
}

// Gap is data that could not be read.
type Gap struct {
	source.Gap
	// Listed is true if it is the failure of a captured kind, which an audit reports by itself.
	Listed bool `json:"listed,omitempty"`
}

// Resource is a kind that can be listed.
type Resource struct {
	Group      string   `json:"group,omitempty"`
	Version    string   `json:"version"`
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	ShortNames []string `json:"shortNames,omitempty"`
	Namespaced bool     `json:"namespaced,omitempty"`
}

func (r *Resource) groupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// State sets the coverage of a captured kind.
func (c *Captured) State(coverage source.Coverage) {
	failures := coverage.Failures()
	if _, c.Everywhere = coverage.Of("*"); !c.Everywhere { // which is no namespace
		c.Namespaces = coverage.Namespaces()
	}
	if elsewhere, ok := failures["*"]; ok {
		c.Elsewhere = &elsewhere
		delete(failures, "*")
	}
	if len(failures) > 0 {
		c.Failures = failures
	}
}

// coverage is the coverage that State was called with.
func (c *Captured) coverage() source.Coverage {
	elsewhere := source.Failure{Reason: source.NotInSnapshot}
	if c.Elsewhere != nil {
		elsewhere = *c.Elsewhere
	}
	out := source.CoveredIn(c.Namespaces, elsewhere)
	if c.Everywhere {
		out = source.Covered()
	}
	for ns, f := range c.Failures {
		out = out.With(ns, &f)
	}
	return out
}

func (c *Captured) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: c.Group, Kind: c.Kind}
}

// kinds returns the kinds that the manifest states.
func (m *Manifest) kinds() *source.Kinds {
	out := &source.Kinds{}
	out.MissingMeans(m.NotListed)
	for _, r := range m.Resources {
		out.Add(source.Kind{
			GroupVersionKind: r.groupVersionKind(), Resource: r.Name, ShortNames: r.ShortNames,
			Namespaced: r.Namespaced,
		})
	}
	for _, text := range slices.Sorted(maps.Keys(m.UnknownGroups)) {
		if gv, err := schema.ParseGroupVersion(text); err == nil {
			out.Break(gv, m.UnknownGroups[text])
		}
	}
	return out
}

// narrower reports whether a query yields only objects that a label selector selects, as far as the query itself
// requires the same labels.
func narrower(q source.Query, selector string) bool {
	if q.LabelSelector == selector {
		return true
	}
	captured, err := labels.ParseToRequirements(selector)
	if err != nil {
		return false
	}
	asked, err := labels.ParseToRequirements(q.LabelSelector)
	if err != nil {
		return false
	}
	requires := func(key string) bool {
		return slices.ContainsFunc(asked, func(a labels.Requirement) bool {
			switch a.Operator() {
			case selection.Exists, selection.In, selection.Equals, selection.DoubleEquals:
				return a.Key() == key
			}
			return false
		})
	}
	for _, c := range captured {
		if c.Operator() != selection.Exists || !requires(c.Key()) {
			return false
		}
	}
	return true
}
