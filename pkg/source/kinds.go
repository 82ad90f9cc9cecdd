// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that can be listed.
type Kind struct {
	schema.GroupVersionKind
	Resource   string // the plural name in API paths, for example "deployments"
	ShortNames []string
	Namespaced bool
	// ReadOnly is true if the server computes the objects of the kind, as ComponentStatus: nothing can create one.
	ReadOnly bool
}

// Called reports whether word names the kind, as kubectl accepts it: the kind, its plural or a short name, with or
// without its group.
func (k Kind) Called(word string) bool {
	word, group, grouped := strings.Cut(strings.ToLower(word), ".")
	if grouped && group != k.Group {
		return false
	}
	return word == strings.ToLower(k.Kind) || word == k.Resource || slices.Contains(k.ShortNames, word)
}

func (k Kind) compare(o Kind) int { return CompareKinds(k.GroupVersionKind, o.GroupVersionKind) }

// CompareKinds orders kinds by group, kind and version.
func CompareKinds(a, b schema.GroupVersionKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
}

// Kinds is the set of kinds that a source can list. The zero value is an empty set. A shared set must not be changed.
type Kinds struct {
	byKind    map[schema.GroupVersionKind]Kind
	preferred map[schema.GroupKind]Kind
	broken    map[schema.GroupVersion]Failure
	missing   Failure
}

// Add adds a kind. The first version of a kind that is added is its preferred version.
func (s *Kinds) Add(k Kind) {
	if s.byKind == nil {
		s.byKind, s.preferred = map[schema.GroupVersionKind]Kind{}, map[schema.GroupKind]Kind{}
	}
	s.byKind[k.GroupVersionKind] = k
	if _, ok := s.preferred[k.GroupKind()]; !ok {
		s.preferred[k.GroupKind()] = k
	}
}

// Break records that the kinds of a group version are not known, because its API did not answer.
func (s *Kinds) Break(gv schema.GroupVersion, f Failure) {
	if s.broken == nil {
		s.broken = map[schema.GroupVersion]Failure{}
	}
	s.broken[gv] = f
}

// MissingMeans sets the failure of Lookup for a kind that is not in the set: KindNotServed for a cluster, NotInSnapshot
// for a snapshot.
func (s *Kinds) MissingMeans(f Failure) { s.missing = f }

// Missing returns the failure of MissingMeans.
func (s *Kinds) Missing() Failure { return s.missing }

// Broken returns the group versions whose kinds are not known.
func (s *Kinds) Broken() map[schema.GroupVersion]Failure { return maps.Clone(s.broken) }

// Lookup finds the kind in exactly that version. If the kind cannot be listed, the failure is the reason.
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

// Every lists each kind in every version, sorted by group, kind and version.
func (s *Kinds) Every() []Kind { return slices.SortedFunc(maps.Values(s.byKind), Kind.compare) }

// All lists each kind once, in its preferred version, sorted by group and kind.
func (s *Kinds) All() []Kind { return slices.SortedFunc(maps.Values(s.preferred), Kind.compare) }
