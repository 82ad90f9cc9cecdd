// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Reason is the reason why data could not be read. In the report, it is a reason of the state Unknown.
type Reason string

// The reasons.
const (
	Forbidden     Reason = "Forbidden"
	KindNotServed Reason = "KindNotServed"
	ReadFailed    Reason = "ReadFailed"
	NotInSnapshot Reason = "NotInSnapshot"
)

// Failure is a reason with the message of the server, which may be printed.
type Failure struct {
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Coverage is the set of namespaces for which a List yielded all objects. The zero value covers nothing.
type Coverage struct {
	all        bool
	namespaces map[string]Failure // a zero Failure means covered
	elsewhere  Failure
}

// Covered is the coverage of a List that yielded all requested objects.
func Covered() Coverage { return Coverage{all: true} }

// NotCovered is the coverage of a List that failed with f.
func NotCovered(f Failure) Coverage { return Coverage{elsewhere: f} }

// CoveredIn is the coverage of a List that yielded all objects of some namespaces. f applies to all other namespaces.
func CoveredIn(namespaces []string, f Failure) Coverage {
	c := Coverage{namespaces: make(map[string]Failure, len(namespaces)), elsewhere: f}
	for _, ns := range namespaces {
		c.namespaces[ns] = Failure{}
	}
	return c
}

// With returns the coverage with the failure of one namespace. nil means that all its objects were read. The namespace
// of cluster-scoped objects is "".
func (c Coverage) With(namespace string, f *Failure) Coverage {
	n := make(map[string]Failure, len(c.namespaces)+1)
	maps.Copy(n, c.namespaces)
	n[namespace] = Failure{}
	if f != nil {
		n[namespace] = *f
	}
	return Coverage{all: c.all, namespaces: n, elsewhere: c.elsewhere}
}

// Of reports whether a List yielded all objects of a namespace ("" for cluster-scoped objects). Then an object that it
// did not yield does not exist. Otherwise the failure is the reason.
func (c Coverage) Of(namespace string) (Failure, bool) {
	if f, ok := c.namespaces[namespace]; ok {
		return f, f == Failure{}
	}
	return c.elsewhere, c.all
}

// Within limits the coverage to the namespaces that matter; nil means that all of them matter. Then nothing is
// missing in the other namespaces.
func (c Coverage) Within(namespaces []string) Coverage {
	if namespaces == nil {
		return c
	}
	out := Covered()
	for _, ns := range namespaces {
		if f, all := c.Of(ns); !all {
			out = out.With(ns, &f)
		}
	}
	return out
}

// Namespaces returns the namespaces that are covered one by one, sorted. Those of a List of all namespaces are not
// among them.
func (c Coverage) Namespaces() []string {
	var out []string
	for ns, f := range c.namespaces {
		if f == (Failure{}) {
			out = append(out, ns)
		}
	}
	slices.Sort(out)
	return out
}

// Whole reports whether a List yielded all objects of all namespaces. The List of one namespace does not, although it
// yields all cluster-scoped objects.
func (c Coverage) Whole() bool { return c.all && len(c.Failures()) == 0 }

// Failures returns the failures by namespace. The key "*" stands for all other namespaces. The map is empty for a
// complete coverage.
func (c Coverage) Failures() map[string]Failure {
	out := map[string]Failure{}
	for ns, f := range c.namespaces {
		if f != (Failure{}) {
			out[ns] = f
		}
	}
	if !c.all && c.elsewhere != (Failure{}) {
		out["*"] = c.elsewhere
	}
	return out
}

// Named is the name of an object as the user writes it. Kind is a word that Kind.Called accepts; an empty Namespace
// means all namespaces.
type Named struct{ Kind, Namespace, Name string }

// String writes the name as on the command line.
func (n Named) String() string {
	out := n.Name
	if n.Namespace != "" {
		out = n.Namespace + "/" + out
	}
	if n.Kind != "" {
		out = n.Kind + "/" + out
	}
	return out
}

// NotFoundError reports that an argument names nothing.
type NotFoundError struct {
	// What names it in the message.
	What string
	// Word is the part of the argument that is not known, Before and After are the parts around it. If it is a kind,
	// Kind is true.
	Before, Word, After string
	Kind                bool
	// Known are words that are known in this place. If the name exists in other namespaces, Elsewhere are its names
	// there instead.
	Known, Elsewhere []string
	// Snapshot is true if the source is a snapshot, which need not have all kinds.
	Snapshot bool
	// DesiredBy are the bundle deployments that desire the object.
	DesiredBy []string
	// Undesired is true if only the objects were looked for that bundles desire. Unread is the reason why other bundles
	// may desire the object; empty if all bundles are known.
	Undesired bool
	Unread    string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	switch {
	case e.Kind && e.Snapshot:
		return fmt.Sprintf("%s not found: the snapshot has no objects of kind %q, and no definition of it", e.What,
			e.Word)
	case e.Kind:
		return fmt.Sprintf("%s not found: the cluster does not serve a kind %q", e.What, e.Word)
	case len(e.DesiredBy) > 0:
		return fmt.Sprintf("%s not found, but bundle deployment %s desires it", e.What, strings.Join(e.DesiredBy, ", "))
	case e.Unread != "":
		return fmt.Sprintf("it is not known whether a bundle desires %s: %s", e.What, e.Unread)
	case e.Undesired:
		return "no bundle has or desires " + e.What
	}
	return e.What + " not found"
}

// Is reports whether an object has the name.
func (n Named) Is(o object.Ref, kinds *Kinds) bool {
	return o.Name == n.Name && n.hasNamespace(o) && n.hasKind(o, kinds)
}

// hasNamespace reports whether an object is in the namespace of the name. A cluster-scoped object is: as in kubectl,
// the namespace has no effect.
func (n Named) hasNamespace(o object.Ref) bool {
	return n.Namespace == "" || o.Namespace == "" || n.Namespace == o.Namespace
}

func (n Named) hasKind(o object.Ref, kinds *Kinds) bool {
	if n.Kind == "" {
		return true
	}
	k, ok := kinds.Preferred(o.GroupVersionKind().GroupKind())
	if !ok {
		k = Kind{GroupVersionKind: o.GroupVersionKind()}
	}
	return k.Called(n.Kind)
}

// NotFound returns the error that none of the objects has a name. kinds has the names of their kinds.
func NotFound(n Named, objects []object.Ref, kinds *Kinds) *NotFoundError {
	e := &NotFoundError{What: n.String(), Before: strings.TrimSuffix(n.String(), n.Name), Word: n.Name}
	mistyped := !slices.ContainsFunc(kinds.All(), func(k Kind) bool { return k.Called(n.Kind) })
	var types []string
	for _, o := range objects {
		types = append(types, strings.ToLower(o.Kind))
		if !n.hasKind(o, kinds) {
			continue
		}
		mistyped = false
		switch {
		case n.hasNamespace(o):
			e.Known = append(e.Known, o.Name)
		case n.Name == o.Name:
			e.Elsewhere = append(e.Elsewhere, Named{n.Kind, o.Namespace, o.Name}.String())
		}
	}
	if mistyped {
		e.Before, e.Word, e.After, e.Known = "", n.Kind, strings.TrimPrefix(n.String(), n.Kind), types
	}
	return e
}

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
