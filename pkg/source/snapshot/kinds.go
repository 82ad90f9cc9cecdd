// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definition is what a CustomResourceDefinition says of its kind.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

func (d *definition) kind() schema.GroupKind {
	return schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
}

// define takes a definition. One that cannot be read defines nothing; the object is kept all the same. Its error is that of a limit.
func (r *reader) define(raw []byte) error {
	var d definition
	if object.Into(raw, &d) == nil && d.Spec.Names.Kind != "" && d.Spec.Names.Plural != "" {
		for _, v := range d.Spec.Versions {
			if err := r.budget.kind(d.kind().WithVersion(v.Name)); err != nil {
				return err
			}
		}
		r.store.definitions = append(r.store.definitions, d)
	}
	return nil
}

// catalog is what is known of kinds from the definitions in the snapshot and from Kubernetes itself.
type catalog struct {
	resources  map[schema.GroupKind]string
	namespaced map[schema.GroupKind]bool
	versions   map[schema.GroupKind]string // of the builtin
	short      map[schema.GroupKind][]string
	files      map[string]schema.GroupKind // by "deployments.apps", and by "deployments" where that is the first
}

func newCatalog(definitions []definition) *catalog {
	c := &catalog{
		resources: map[schema.GroupKind]string{}, namespaced: map[schema.GroupKind]bool{},
		versions: map[schema.GroupKind]string{}, files: map[string]schema.GroupKind{}, short: maps.Clone(short),
	}
	for _, row := range builtin {
		for _, kind := range strings.Fields(row.kinds) {
			gk := schema.GroupKind{Group: row.group, Kind: kind}
			c.add(gk, guess(gk), !object.ClusterScoped(gk))
			c.versions[gk] = row.version
		}
	}
	for i := range definitions {
		d := &definitions[i]
		c.add(d.kind(), d.Spec.Names.Plural, d.Spec.Scope != "Cluster")
		c.short[d.kind()] = d.Spec.Names.ShortNames
	}
	return c
}

// guess is the plural of a kind that nothing defines.
func guess(gk schema.GroupKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return plural.Resource
}

func (c *catalog) add(gk schema.GroupKind, resource string, namespaced bool) {
	c.resources[gk], c.namespaced[gk] = resource, namespaced
	c.files[schema.GroupResource{Group: gk.Group, Resource: resource}.String()] = gk
	if _, taken := c.files[resource]; !taken {
		c.files[resource] = gk
	}
}

// named is the kind whose resource a file is named for: "deployments.apps.json", "pods.yaml.gz".
func (c *catalog) named(file string) (schema.GroupKind, bool) {
	name := strings.TrimSuffix(strings.ToLower(file), ".gz")
	switch ext := path.Ext(name); ext {
	case ".json", ".yaml", ".yml":
		name = strings.TrimSuffix(name, ext)
	}
	gk, ok := c.files[name]
	return gk, ok
}

func (c *catalog) resource(gk schema.GroupKind) string {
	return cmp.Or(c.resources[gk], guess(gk))
}

// kinds lists the kinds of a snapshot: those with objects, in the versions they were captured in, the most frequent first; those that
// a List was captured of; and those that a captured definition defines, in the versions it serves.
func (r *reader) kinds(c *catalog, objects map[schema.GroupKind][]entry, extents map[schema.GroupKind]*extent) *source.Kinds {
	out := &source.Kinds{}
	out.MissingMeans(source.Failure{Reason: source.NotInSnapshot, Detail: "neither an object nor a definition of this kind was captured"})
	add := func(gk schema.GroupKind, versions []string, namespaced bool) {
		for _, v := range versions {
			out.Add(source.Kind{GroupVersionKind: gk.WithVersion(v), Resource: c.resource(gk), ShortNames: c.short[gk], Namespaced: namespaced})
		}
	}
	for gk, entries := range objects {
		count, scoped := map[string]int{}, false
		for i := range entries {
			count[entries[i].version]++
			scoped = scoped || entries[i].key.Namespace != ""
		}
		if known, ok := c.namespaced[gk]; ok {
			scoped = known
		}
		add(gk, ordered(count), scoped)
	}
	for _, l := range r.evidence.lists {
		if gk := l.element.GroupKind(); gk.Kind != "" {
			namespaced, ok := c.namespaced[gk]
			add(gk, []string{l.element.Version}, namespaced || !ok)
		}
	}
	for i := range r.store.definitions {
		d := &r.store.definitions[i]
		served := map[string]int{}
		for _, v := range d.Spec.Versions {
			if v.Served {
				served[v.Name] = 1
			}
		}
		add(d.kind(), ordered(served), c.namespaced[d.kind()])
	}
	for gk := range extents {
		if _, ok := out.Preferred(gk); !ok { // an empty List in a file named for its resource
			add(gk, []string{c.versions[gk]}, c.namespaced[gk])
		}
	}
	return out
}

// ordered lists versions, those of most objects first, then as Kubernetes prefers them: v2, v1, v1beta1.
func ordered(count map[string]int) []string {
	out := make([]string, 0, len(count))
	for v := range count {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), version.CompareKubeAwareVersionStrings(b, a), cmp.Compare(a, b))
	})
	return out
}
