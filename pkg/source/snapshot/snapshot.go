// SPDX-License-Identifier: Apache-2.0

// Package snapshot reads a captured cluster from files: folders, files and archives of any layout. It reads every YAML or JSON document that
// is a Kubernetes object or List: the output of `kubectl get -o yaml` and `fleet dump`, captures of crust-gather, and support bundles. It
// writes nothing to disk, no error or gap quotes a document, and the cost of a hostile archive is limited (see Limits).
//
// # When an object is missing
//
// An object that is not in a snapshot did not exist on the cluster, or was not captured. It counts as missing only if the snapshot proves
// that its kind was captured in its namespace:
//
//   - A List proves that there are no other objects of the kinds of its items. A typed List (ConfigMapList) proves it for its own kind, too.
//     An empty untyped List proves it for the resource in the name of its file (configmaps.json, bundles.fleet.cattle.io.json), or proves
//     nothing. A List proves nothing if it has metadata.continue or remainingItemCount, has a damaged item, has no end, or is in a file with
//     a selector in its name.
//   - A List with items in several namespaces proves it in all namespaces. A List with items in one namespace may be the output of
//     `kubectl get -n`, so it proves it in that namespace only. There is one exception: if the items are of one namespaced kind, and another
//     List of the snapshot has items in several namespaces, the List proves it in all namespaces, because most scripts capture each resource
//     in the same way. An empty List proves it in all namespaces, unless some Lists have items in one namespace and no List has items in
//     several. Each List proves it for cluster-scoped objects.
//   - Separate documents prove it in each namespace with an object of the kind, because collectors that write a file for each object capture
//     whole namespaces. They prove nothing if data in their folder could not be read, because it may have been the object, or if their path
//     was not read to its end. If a List of a kind is incomplete, or an object of a kind is damaged, only whole Lists prove it for the kind.
//   - A manifest (see Manifest) states it, and is used instead of these rules.
//   - A YAML file that is cut is often valid YAML. A document without the members that each object has is damaged (see truncation.go). If the
//     file has several documents, its path then counts as not read to its end.
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

// Snapshot is a captured cluster. It is immutable.
type Snapshot struct {
	description source.Description
	kinds       *source.Kinds
	objects     map[schema.GroupKind][]entry
	coverage    map[schema.GroupKind]source.Coverage
	selected    map[schema.GroupKind]string // the label selectors of kinds that were captured with one
}

var _ source.Source = (*Snapshot)(nil)

// snapshot returns the Snapshot of the paths that were read.
func (r *reader) snapshot(paths []string) *Snapshot {
	r.catalog.addDefinitions(r.store.definitions)
	extents := r.evidence.extents(r.catalog.named)
	s := &Snapshot{objects: r.store.byKind(), coverage: map[schema.GroupKind]source.Coverage{}}
	s.kinds = r.kinds(s.objects, extents)
	for _, k := range s.kinds.All() {
		s.coverage[k.GroupKind()] = extents[k.GroupKind()].coverage()
	}
	s.markPartial()
	manifest := r.manifest()
	s.description = source.Description{
		Origin: source.OriginSnapshot, Paths: slices.Clone(paths),
		KubernetesVersion: cmp.Or(r.server, r.kubelet),
		ClusterUID:        r.store.cluster,
		TakenAt:           cmp.Or(r.taken, r.newest),
		Earliest:          r.taken.IsZero(),
		Notes:             r.notes,
	}
	if repeated := r.store.repeated; repeated.count > 0 {
		s.description.Notes = append(s.description.Notes, repeated.of(
			"object was found more than once; its newest resourceVersion was kept",
			"objects were found more than once; the newest resourceVersion of each was kept"))
	}
	if manifest != nil {
		manifest.apply(s, r)
	}
	s.description.Gaps = r.gaps.all()
	return s
}

// Describe returns the origin of the snapshot and its gaps. It never fails.
func (s *Snapshot) Describe(context.Context) (source.Description, error) {
	d := s.description
	d.Paths, d.Notes, d.Gaps = slices.Clone(d.Paths), slices.Clone(d.Notes), slices.Clone(d.Gaps)
	return d, nil
}

// Kinds lists the kinds of captured objects, typed Lists and definitions. Whether all objects of a kind were captured is the coverage of a
// List. It never fails.
func (s *Snapshot) Kinds(context.Context) (*source.Kinds, error) { return s.kinds, nil }

// List yields the objects of a kind, sorted by namespace and name, in the versions in which they were captured. The namespaces of a query do
// not exclude cluster-scoped objects. A List with a selector that a snapshot does not support covers nothing.
func (s *Snapshot) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	match, unsupported := matcher(q)
	if unsupported != "" {
		return source.NotCovered(source.Failure{Reason: source.ReadFailed, Detail: unsupported}), nil
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
		if err := yield(source.Object{Item: object.Item{Raw: e.raw, ManagedFields: e.managed}, Kind: gk.WithVersion(e.version),
			Partial: e.partial}); err != nil {
			return source.Coverage{}, err
		}
	}
	if selector := s.selected[gk]; selector != "" && !narrower(q, selector) {
		return source.NotCovered(source.Failure{Reason: source.NotInSnapshot, Detail: "only objects with the label " + selector + " were captured"}), nil
	}
	return covered, nil
}

// matcher returns the condition of a query, or the reason why a snapshot does not support the query.
func matcher(q source.Query) (match func(*entry) bool, unsupported string) {
	byLabel, err := labels.Parse(q.LabelSelector)
	if err != nil {
		return nil, fmt.Sprintf("parsing label selector: %v", err)
	}
	byField, err := fields.ParseSelector(q.FieldSelector)
	if err != nil {
		return nil, fmt.Sprintf("parsing field selector: %v", err)
	}
	for _, f := range byField.Requirements() {
		if !slices.Contains([]string{"metadata.name", "metadata.namespace", "type"}, f.Field) {
			return nil, fmt.Sprintf("a snapshot cannot select by the field %q", f.Field)
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
	}, ""
}

// labelSet decodes the labels. They are not stored, because few queries select by label.
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
