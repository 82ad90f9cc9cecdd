// SPDX-License-Identifier: Apache-2.0

// Package settle reads again what a result depends on. A result may show a moment between two writes: kinds are listed
// one after the other, and Fleet writes related objects one after the other. A result therefore states questions: which
// objects must still be as they were. Who asks them drops a result if the answer to one of its questions is no.
package settle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Reader reads objects of one cluster, as a source.Source does.
type Reader interface {
	List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error)
}

// Answers are the answers to questions.
type Answers struct {
	// Changed are the questions whose object is not as it was.
	Changed map[Question]bool
	// Unread are the questions whose object could not be read again. Gaps say why.
	Unread map[Question]bool
	Gaps   []source.Gap
}

// With returns the answers together with later ones.
func (a Answers) With(later Answers) Answers {
	out := Answers{Changed: map[Question]bool{}, Unread: map[Question]bool{}, Gaps: slices.Concat(a.Gaps, later.Gaps)}
	for _, x := range []Answers{a, later} {
		maps.Copy(out.Changed, x.Changed)
		maps.Copy(out.Unread, x.Unread)
	}
	return out
}

// Hold reports whether every object is as it was.
func (a Answers) Hold(questions []Question) bool {
	return !slices.ContainsFunc(questions, func(q Question) bool { return a.Changed[q] || a.Unread[q] })
}

// manyNamespaces is the number of namespaces from which one list of all namespaces is cheaper than a list of each.
const manyNamespaces = 10

// list is what one query reads.
type list struct {
	kind, apiVersion, secretType string
	metadataOnly                 bool
}

// name orders lists, so that the gaps have one order.
func (l list) name() string { return fmt.Sprint(l) }

// Ask reads the objects of questions again, with one query for each kind. The questions are about one cluster.
func Ask(ctx context.Context, r Reader, questions []Question) (Answers, error) {
	out := Answers{Changed: map[Question]bool{}, Unread: map[Question]bool{}}
	lists := map[list][]Question{}
	for _, q := range questions {
		l := list{q.Ref.Kind, q.Ref.APIVersion, q.Type, q.Aspect.ofMetadata(q.Ref.Kind)}
		lists[l] = append(lists[l], q)
	}
	inOrder := func(a, b list) int { return cmp.Compare(a.name(), b.name()) }
	for _, l := range slices.SortedFunc(maps.Keys(lists), inOrder) {
		if err := l.ask(ctx, r, lists[l], &out); err != nil {
			return Answers{}, err
		}
	}
	return out, nil
}

func (l list) ask(ctx context.Context, r Reader, asked []Question, out *Answers) error {
	wanted, namespaces := map[object.Key][]Question{}, map[string]bool{}
	for _, q := range asked {
		wanted[q.Ref.Key()] = append(wanted[q.Ref.Key()], q)
		namespaces[q.Ref.Namespace] = true
	}
	now, damaged := map[Question]string{}, false
	cover, err := r.List(ctx, l.query(slices.Sorted(maps.Keys(namespaces))), func(o source.Object) error {
		found := read(o, l.metadataOnly)
		if found == nil {
			damaged = true // any object may be this one
			return nil
		}
		key := object.Key{Kind: l.kind, Group: object.Group(l.apiVersion), Namespace: found.GetNamespace(),
			Name: found.GetName()}
		for _, q := range wanted[key] {
			now[q] = q.Aspect.Of(found)
		}
		return nil
	})
	if damaged {
		cover = source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: "an object could not be decoded"})
	}
	unread := false
	for _, q := range asked {
		switch _, covered := cover.Of(q.Ref.Namespace); {
		case !covered:
			out.Unread[q], unread = true, true
		case !q.holds(now[q]):
			out.Changed[q] = true
		}
	}
	if unread {
		out.Gaps = append(out.Gaps, source.CoverageGaps("reading objects of kind "+l.kind+" again", cover,
			"what depends on them is not certain, and is not reported")...)
	}
	return err
}

func (l list) query(namespaces []string) source.Query {
	ref := object.Ref{APIVersion: l.apiVersion, Kind: l.kind}
	q := source.Query{Kind: ref.GroupVersionKind(), Namespaces: namespaces, MetadataOnly: l.metadataOnly}
	if l.secretType != "" {
		q.FieldSelector = "type=" + l.secretType
	}
	switch {
	case len(namespaces) == 1 && namespaces[0] == "": // a kind without namespaces
		q.Namespaces = nil
	case len(namespaces) > manyNamespaces:
		q.Namespaces, q.Fallback = nil, namespaces
	}
	return q
}

// read decodes one of Fleet's objects whole, or the metadata of any object; nil if it could not be decoded.
func read(o source.Object, metadataOnly bool) metav1.Object {
	if !metadataOnly {
		i := slices.IndexFunc(state.Kinds, func(k state.Kind) bool { return k.Name == o.Kind.Kind })
		again := &state.Fleet{}
		if state.Kinds[i].Add(again, o.Raw) != nil {
			return nil
		}
		return state.Kinds[i].Of(again)[0]
	}
	var m struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if object.Into(o.Raw, &m) != nil {
		return nil
	}
	return &m.Metadata
}
