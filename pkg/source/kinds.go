// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that can be listed.
type Kind struct {
	schema.GroupVersionKind
	Resource   string // the plural name in the API's paths, e.g. "deployments"
	ShortNames []string
	Namespaced bool
}

// Called says whether word names the kind in the way that kubectl accepts: the kind, its plural or a short name, with or without its
// group.
func (k Kind) Called(word string) bool {
	word, group, grouped := strings.Cut(strings.ToLower(word), ".")
	if grouped && group != k.Group {
		return false
	}
	return word == strings.ToLower(k.Kind) || word == k.Resource || slices.Contains(k.ShortNames, word)
}

// Kinds is the set of kinds that a source can list. The zero value is empty and ready to use; it must not be changed once it is shared.
type Kinds struct {
	byKind    map[schema.GroupVersionKind]Kind
	preferred map[schema.GroupKind]Kind
	broken    map[schema.GroupVersion]Failure
	missing   Failure
}

// Add adds a kind. The first version added of a kind is its preferred one.
func (s *Kinds) Add(k Kind) {
	if s.byKind == nil {
		s.byKind, s.preferred = map[schema.GroupVersionKind]Kind{}, map[schema.GroupKind]Kind{}
	}
	s.byKind[k.GroupVersionKind] = k
	if _, ok := s.preferred[k.GroupKind()]; !ok {
		s.preferred[k.GroupKind()] = k
	}
}

// Break notes that the kinds of a group version are not known, because its API did not answer.
func (s *Kinds) Break(gv schema.GroupVersion, f Failure) {
	if s.broken == nil {
		s.broken = map[schema.GroupVersion]Failure{}
	}
	s.broken[gv] = f
}

// MissingMeans sets the failure of Lookup for a kind that is not in the set: KindNotServed for a cluster, NotInSnapshot for a snapshot.
func (s *Kinds) MissingMeans(f Failure) { s.missing = f }

// Lookup finds the kind in exactly that version. Where it cannot be listed, the failure says why.
func (s *Kinds) Lookup(gvk schema.GroupVersionKind) (Kind, Failure, bool) {
	if k, ok := s.byKind[gvk]; ok {
		return k, Failure{}, true
	}
	if f, ok := s.broken[gvk.GroupVersion()]; ok {
		return Kind{}, f, false
	}
	return Kind{}, s.missing, false
}

// Preferred finds the kind in the version that the source prefers.
func (s *Kinds) Preferred(gk schema.GroupKind) (Kind, bool) {
	k, ok := s.preferred[gk]
	return k, ok
}

// Every lists each kind in every version, ordered by group, kind and version.
func (s *Kinds) Every() []Kind {
	out := make([]Kind, 0, len(s.byKind))
	for _, k := range s.byKind {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	return out
}

// All lists each kind once, in its preferred version, ordered by group and kind.
func (s *Kinds) All() []Kind {
	out := make([]Kind, 0, len(s.preferred))
	for _, k := range s.preferred {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kind) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind)) })
	return out
}
