// SPDX-License-Identifier: Apache-2.0

// Package settle reads again what a result depends on. A result may show a moment between two writes: kinds are listed
// one after the other, and Fleet writes related objects one after the other. A result therefore states questions: which
// objects must still be as they were. Who asks them drops a result if the answer to one of its questions is no.
package settle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
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
		return state.Kinds[i].List(again)[0]
	}
	var m struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if object.Into(o.Raw, &m) != nil {
		return nil
	}
	return &m.Metadata
}

// Question asks whether an object still is as it was when it was first read.
type Question struct {
	// Cluster is the cluster of the object; empty for the source itself.
	Cluster object.ClusterID
	Ref     object.Ref
	// Type is the type of a Secret. A Secret of another type counts as absent.
	Type   string
	Aspect Aspect
	// Was is what the Aspect showed when the object was first read; empty if the object did not exist.
	Was string
}

// holds reports whether what the Aspect shows now is what it showed. A release record of which the label with the
// status is missing, for example one restored from a backup, does not contradict a status.
func (q Question) holds(now string) bool {
	return now == q.Was || q.Aspect == ReleaseStatus && now == statusOf("")
}

// Same asks whether an object is as it was.
func (a Aspect) Same(ref object.Ref, o metav1.Object) Question {
	return Question{Ref: ref, Aspect: a, Was: a.Of(o)}
}

// Exists asks whether an object that existed still exists, Absent whether one that did not exist still does not.
func Exists(ref object.Ref) Question { return Question{Ref: ref, Aspect: Presence, Was: present} }

// Absent asks whether an object that did not exist still does not exist.
func Absent(ref object.Ref) Question { return Question{Ref: ref, Aspect: Identity} }

// Recorded asks whether a revision of a release still has its record.
func Recorded(cluster object.ClusterID, revision release.Name) Question {
	record := object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: revision.Namespace, Name: revision.SecretName()}
	q := Exists(record)
	q.Cluster, q.Type = cluster, release.SecretType
	return q
}

// Newest asks whether a revision of a release still is the newest one and has the same status, which is empty if it is
// not known.
func Newest(cluster object.ClusterID, revision release.Name, status string) []Question {
	same := Recorded(cluster, revision)
	if status != "" {
		same.Aspect, same.Was = ReleaseStatus, statusOf(status)
	}
	revision.Revision++
	next := Recorded(cluster, revision)
	next.Was = ""
	return []Question{same, next}
}

// Aspect is the part of an object that must not change.
type Aspect string

// The aspects.
const (
	// Presence is that the object exists and is not being deleted.
	Presence Aspect = "presence"
	// Identity is that it is the same object, whether it is being deleted or not.
	Identity Aspect = "identity"
	// Spec is the Identity with the generation and the labels.
	Spec Aspect = "spec"
	// Version is its resourceVersion: nothing changed.
	Version Aspect = "version"
	// Numbers are the part of the status of one of Fleet's objects that Fleet computes from the objects below. The
	// rest, such as a heartbeat or the time of a poll, changes without them. Fleet writes BundleDeployments and
	// Bundles, which can be large, only when something changes: of these, it is the Version.
	Numbers Aspect = "numbers"
	// ReleaseStatus is the status of a Helm release record.
	ReleaseStatus Aspect = "release status"
)

// present is what Presence shows of an object that exists.
const present = "present"

// Of returns what an aspect shows of an object. It is empty for an object that does not exist, and for no other except
// one that is being deleted, whose Presence is empty.
func (a Aspect) Of(o metav1.Object) string {
	deleting := o.GetDeletionTimestamp() != nil
	identity := fmt.Sprint("uid ", o.GetUID(), " deleting ", deleting)
	switch a {
	case Presence:
		if deleting {
			return ""
		}
		return present
	case Spec:
		return fmt.Sprint(identity, " generation ", o.GetGeneration(), " labels ", labels.Set(o.GetLabels()))
	case Version:
		return VersionOf(o.GetResourceVersion())
	case ReleaseStatus:
		return statusOf(o.GetLabels()["status"])
	case Numbers:
		if numbers := numbersOf(o); numbers != nil {
			text, err := json.Marshal(numbers)
			return fmt.Sprint("uid ", o.GetUID(), " numbers ", string(text), err)
		}
		return Version.Of(o)
	}
	return identity
}

func statusOf(status string) string { return "status " + status }

// VersionOf returns what Version shows of an object with a resourceVersion.
func VersionOf(resourceVersion string) string { return "version " + resourceVersion }

// ofMetadata reports whether the metadata of an object of a kind show the aspect.
func (a Aspect) ofMetadata(kind string) bool {
	return a != Numbers || kind == state.BundleDeployment || kind == state.Bundle
}

// numbersOf returns the part of a status that Fleet computes; nil for an object of which the Version counts.
func numbersOf(o metav1.Object) any {
	switch o := o.(type) {
	case *v1alpha1.Cluster:
		s := o.Status
		s.Agent, s.AgentRecord = v1alpha1.AgentStatus{}, v1alpha1.AgentRecord{}
		return s
	case *v1alpha1.GitRepo:
		return withoutConditions(o.Status.Status)
	case *v1alpha1.HelmOp:
		return withoutConditions(o.Status)
	case *v1alpha1.ClusterGroup:
		s := o.Status
		s.Status = withoutConditions(s.Status)
		return s
	}
	return nil
}

func withoutConditions(s v1alpha1.Status) v1alpha1.Status {
	s.Conditions = nil
	return s
}
