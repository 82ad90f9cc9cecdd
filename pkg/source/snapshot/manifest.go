// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
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

// Manifest states what a snapshot has, so that nothing must be guessed from its objects. The verb snapshot writes it as the last file: a truncated
// snapshot has none. It is an API: fields are added, never renamed.
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the data. Earliest is true if the data may be later.
	TakenAt  time.Time `json:"takenAt"`
	Earliest bool      `json:"earliest,omitempty"`
	// Complete is true if the snapshot was taken from a live cluster. Otherwise it was taken from a capture that may lack objects without stating it.
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
	// Everywhere is true if the list yielded all objects, except in the namespaces with a failure. Otherwise it yielded those of Namespaces, and
	// Elsewhere is the failure of the others. Namespace "" stands for cluster-scoped objects.
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
	out := source.Covered()
	if !c.Everywhere {
		out = source.CoveredIn(c.Namespaces, source.Failure{Reason: source.NotInSnapshot})
		if c.Elsewhere != nil {
			out = source.CoveredIn(c.Namespaces, *c.Elsewhere)
		}
	}
	for ns, f := range c.Failures {
		out = out.With(ns, &f)
	}
	return out
}

func (c *Captured) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: c.Group, Kind: c.Kind}
}

// readManifest keeps the manifest of a snapshot. The error is that of a limit.
func (r *reader) readManifest(f *file, d *document, h *head) error {
	f.known = true
	if h.apiVersion != ManifestAPIVersion {
		f.r.gaps.add(f.at(d.line, 0, d.number), "it is a manifest of version "+shown(h.apiVersion)+", which this version of the program does not know", effectNoManifest)
		return nil
	}
	m, ok := decodeManifest(d.body)
	if !ok {
		f.damaged(f.at(d.line, 0, d.number), "the manifest of the snapshot is damaged")
		return nil
	}
	for _, resource := range m.Resources {
		if err := r.budget.kind(schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}); err != nil {
			return err
		}
	}
	r.manifests = append(r.manifests, m)
	return nil
}

// readRendering keeps the result of rendering a bundle.
func (r *reader) readRendering(f *file, d *document, h *head) {
	f.known = true
	var out Rendering
	if h.apiVersion != ManifestAPIVersion || object.Into(d.assemble(), &out) != nil {
		f.damaged(f.at(d.line, 0, d.number), "the result of rendering a bundle is damaged")
		return
	}
	if r.renderings == nil {
		r.renderings = map[string]*source.Rendering{}
	}
	r.renderings[out.Key()] = &out.Rendering
}

func decodeManifest(raw []byte) (m *Manifest, ok bool) {
	m = &Manifest{}
	err := object.Into(raw, m)
	return m, err == nil
}

const effectNoManifest = "only the objects themselves prove what was captured"

// manifest returns the manifest of the snapshot; nil if the snapshot has no manifest, or several.
func (r *reader) manifest() *Manifest {
	if len(r.manifests) > 1 {
		r.gaps.add("the manifests of the snapshots", fmt.Sprintf("%d snapshots were given as one", len(r.manifests)), effectNoManifest)
	}
	if len(r.manifests) != 1 {
		return nil
	}
	m := r.manifests[0]
	for _, g := range m.Gaps {
		if !g.Listed {
			r.gaps.list = append(r.gaps.list, g.Gap)
		}
	}
	return m
}

// apply replaces what the objects prove by what the manifest states. The statement about a kind counts only if none of its objects is lost.
func (m *Manifest) apply(s *Snapshot, r *reader) {
	kinds := m.kinds()
	for _, k := range s.kinds.Every() {
		if _, known := kinds.Preferred(k.GroupKind()); !known {
			kinds.Add(k)
		}
	}
	s.kinds = kinds
	for _, k := range kinds.All() {
		if _, stated := s.coverage[k.GroupKind()]; !stated {
			s.coverage[k.GroupKind()] = extent{}.coverage()
		}
	}
	s.selected = map[schema.GroupKind]string{}
	whole := true
	for i := range m.Captured {
		c := &m.Captured[i]
		if lost := c.Objects - len(s.objects[c.groupKind()]); lost > 0 {
			r.gaps.add(fmt.Sprintf("%d of %d objects of kind %s", lost, c.Objects, shown(c.Kind)), "they are not in the snapshot any more, or are damaged",
				"they are not known to be missing on the cluster; take the snapshot again")
			whole = false
			s.coverage[c.groupKind()] = source.NotCovered(source.Failure{Reason: source.NotInSnapshot, Detail: "objects of this kind were lost after the snapshot was taken"})
			continue
		}
		s.coverage[c.groupKind()] = c.coverage()
		if c.LabelSelector != "" {
			s.selected[c.groupKind()] = c.LabelSelector
		}
	}
	s.description.TakenAt, s.description.Earliest = cmp.Or(m.TakenAt, s.description.TakenAt), m.Earliest
	s.description.KubernetesVersion = cmp.Or(m.Versions.Kubernetes, s.description.KubernetesVersion)
	s.description.Complete, s.description.Unmasked = m.Complete && whole, m.Unmasked
	if s.description.Complete {
		s.separate()
	}
	if m.Masked != nil && m.Unmasked == nil {
		s.description.Unmasked = &source.Unmasked{}
	}
	if s.description.Unmasked != nil {
		s.description.Unmasked.Renderings = r.renderings
	}
	s.description.Notes = append(slices.Clone(m.Notes), s.description.Notes...)
}

// markPartial marks the objects of which not all fields were captured.
func (s *Snapshot) markPartial() {
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			if !bytes.Contains(e.raw, []byte(CapturedAnnotation)) {
				continue
			}
			m, err := object.ReadMeta(e.raw)
			e.partial = err == nil && m.Metadata.Annotations[CapturedAnnotation] == CapturedMetadata
		}
	}
}

// separate takes the managedFields out of the objects, as a cluster yields them: an audit uses them for fewer objects then.
func (s *Snapshot) separate() {
	var reader object.ItemReader
	for _, entries := range s.objects {
		for i := range entries {
			e := &entries[i]
			item, err := reader.Read(jsontext.NewDecoder(bytes.NewBuffer(e.raw), lenient))
			if err == nil && len(item.ManagedFields) > 0 {
				e.raw, e.managed = bytes.Clone(item.Raw), bytes.Clone(item.ManagedFields)
			}
		}
	}
}

// kinds returns the kinds that the manifest states.
func (m *Manifest) kinds() *source.Kinds {
	out := &source.Kinds{}
	out.MissingMeans(m.NotListed)
	for _, r := range m.Resources {
		out.Add(source.Kind{GroupVersionKind: schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}, Resource: r.Name,
			ShortNames: r.ShortNames, Namespaced: r.Namespaced})
	}
	for _, text := range slices.Sorted(maps.Keys(m.UnknownGroups)) {
		if gv, err := schema.ParseGroupVersion(text); err == nil {
			out.Break(gv, m.UnknownGroups[text])
		}
	}
	return out
}

// narrower reports whether a query yields only objects that a label selector selects, as far as the query itself requires the same labels.
func narrower(q source.Query, selector string) bool {
	captured, err := labels.ParseToRequirements(selector)
	if err != nil {
		return false
	}
	asked, err := labels.ParseToRequirements(q.LabelSelector)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(captured, func(c labels.Requirement) bool {
		return c.Operator() != selection.Exists || !slices.ContainsFunc(asked, func(a labels.Requirement) bool {
			switch a.Operator() {
			case selection.Exists, selection.In, selection.Equals, selection.DoubleEquals:
				return a.Key() == c.Key()
			}
			return false
		})
	})
}
