// SPDX-License-Identifier: Apache-2.0

// Package snapshot reads a captured cluster from files, without any cluster: folders, files and archives of whatever layout, in which
// every YAML or JSON document that is a Kubernetes object or List counts. That takes in `kubectl get -o yaml`, `fleet dump`,
// crust-gather and support bundles. Nothing is written to disk, nothing of a document's content comes into an error or gap, and what a
// hostile archive can cost is bounded (see Limits).
//
// # What is proven absent
//
// An object that is not in a snapshot was either missing from the cluster, or not captured. It counts as missing only where its kind
// was provably captured:
//
//   - A List proves that there is no other object of the kinds among its items, and of its own kind if it is typed (ConfigMapList). An
//     empty untyped List proves it of the resource that its file is named for (configmaps.json, bundles.fleet.cattle.io.json), or
//     nothing. A List that has metadata.continue or remainingItemCount, or a damaged item, or whose end was not read, proves nothing,
//     and neither does one in a file whose name states a selector.
//   - A List proves it in all namespaces if its items lie in several. If they all lie in one, it may be from `kubectl get -n`: it then
//     proves it in that namespace only, unless it has one namespaced kind and another List of the snapshot spans namespaces, for who
//     captured one resource of all namespaces mostly did so with each. An empty List proves it in all namespaces, unless there are
//     Lists within one namespace and none that spans several. Objects without namespace have one scope, which any List proves.
//   - Documents of their own prove it in each namespace in which there is one of the kind: collectors that write a file for each object
//     take whole namespaces. They prove nothing if something in their folder could not be read, as it may have been the very object,
//     or if the path that they came from was not read to its end. Items of incomplete Lists do not prove their namespaces either.
//     A kind of which a List is incomplete, or an object is known to be damaged, is proven by whole Lists only.
//   - A YAML file that is cut is valid YAML in most cases. A document that lacks what each object has is damaged (see tail), and in a
//     file of several documents the path then counts as not read to its end.
package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Snapshot is a captured cluster. It never changes.
type Snapshot struct {
	description source.Description
	kinds       *source.Kinds
	objects     map[schema.GroupKind][]entry
	coverage    map[schema.GroupKind]source.Coverage
}

var _ source.Source = (*Snapshot)(nil)

// snapshot is what was read.
func (r *reader) snapshot(paths []string) *Snapshot {
	r.catalog.addDefinitions(r.store.definitions)
	extents := r.evidence.extents(r.catalog.named)
	s := &Snapshot{objects: r.store.byKind(), coverage: map[schema.GroupKind]source.Coverage{}}
	s.kinds = r.kinds(s.objects, extents)
	for _, k := range s.kinds.All() {
		x := cmp.Or(extents[k.GroupKind()], &extent{})
		s.coverage[k.GroupKind()] = x.coverage(k.Resource)
	}
	s.description = source.Description{
		Origin: source.OriginSnapshot, Paths: slices.Clone(paths),
		KubernetesVersion: cmp.Or(r.server, r.kubeletVersion),
		TakenAt:           r.newest,
		Gaps:              r.gaps.all(),
	}
	if !r.taken.IsZero() {
		s.description.TakenAt = r.taken
	}
	if double := r.store.double; double.count > 0 {
		s.description.Notes = append(s.description.Notes, double.of(
			"object was found more than once; its newest resourceVersion was kept",
			"objects were found more than once; the newest resourceVersion of each was kept"))
	}
	return s
}

// Describe says what was read, and what could not be. It never fails.
func (s *Snapshot) Describe(context.Context) (source.Description, error) {
	d := s.description
	d.Paths, d.Notes, d.Gaps = slices.Clone(d.Paths), slices.Clone(d.Notes), slices.Clone(d.Gaps)
	return d, nil
}

// Kinds lists the kinds that objects, typed Lists or definitions were captured of. That a kind is listed does not mean that any of its
// objects were captured: the coverage of a List says that. It never fails.
func (s *Snapshot) Kinds(context.Context) (*source.Kinds, error) { return s.kinds, nil }

// List passes on the objects of a kind, ordered by namespace and name, in the version in which each was captured, be it another than
// the one asked for. The namespaces of a query do not matter for objects that have none. A selector that a snapshot does not understand
// makes a List that covers nothing.
func (s *Snapshot) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	match, failure := matcher(q)
	if failure != nil {
		return source.NotCovered(*failure), nil
	}
	gk := q.Kind.GroupKind()
	covered, ok := s.coverage[gk]
	if !ok {
		_, f, _ := s.kinds.Lookup(q.Kind)
		return source.NotCovered(f), nil
	}
	for i := range s.objects[gk] {
		if err := ctx.Err(); err != nil {
			return source.Coverage{}, err
		}
		e := &s.objects[gk][i]
		if !match(e) {
			continue
		}
		if err := yield(source.Object{Raw: e.raw, Kind: gk.WithVersion(e.version)}); err != nil {
			return source.Coverage{}, err
		}
	}
	return covered, nil
}

// matcher is the condition of a query on an object of its kind. The failure says why a snapshot does not understand it.
func matcher(q source.Query) (func(*entry) bool, *source.Failure) {
	byLabel, err := labels.Parse(q.LabelSelector)
	if err != nil {
		return nil, &source.Failure{Reason: source.ReadFailed, Detail: fmt.Sprintf("parsing label selector: %v", err)}
	}
	byField, err := fields.ParseSelector(q.FieldSelector)
	if err != nil {
		return nil, &source.Failure{Reason: source.ReadFailed, Detail: fmt.Sprintf("parsing field selector: %v", err)}
	}
	for _, f := range byField.Requirements() {
		if !slices.Contains([]string{"metadata.name", "metadata.namespace", "type"}, f.Field) {
			return nil, &source.Failure{Reason: source.ReadFailed, Detail: fmt.Sprintf("a snapshot cannot select by the field %q", f.Field)}
		}
	}
	return func(e *entry) bool {
		if len(q.Namespaces) > 0 && e.key.Namespace != "" && !slices.Contains(q.Namespaces, e.key.Namespace) {
			return false
		}
		if !byField.Empty() && !byField.Matches(fields.Set{"metadata.name": e.key.Name, "metadata.namespace": e.key.Namespace, "type": e.typ}) {
			return false
		}
		return byLabel.Empty() || byLabel.Matches(e.labelSet())
	}, nil
}

// labelSet decodes the labels. Few queries ask for them.
func (e *entry) labelSet() labels.Set {
	var o struct {
		Metadata struct {
			Labels labels.Set `json:"labels"`
		} `json:"metadata"`
	}
	if err := object.Into(e.raw, &o); err != nil {
		return labels.Set{}
	}
	return o.Metadata.Labels
}
