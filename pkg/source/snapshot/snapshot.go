// SPDX-License-Identifier: Apache-2.0

// Package snapshot reads a captured cluster: every YAML or JSON document in files, folders and archives (package files)
// that is a Kubernetes object or a List.
//
// # When an object is missing
//
// An object that is not in a snapshot did not exist on the cluster, or was not captured. It counts as missing only if
// the snapshot proves that its kind was captured in its namespace:
//
//   - A List proves that there are no other objects of the kinds of its items. A typed List (ConfigMapList) proves it
//     for its own kind, too. An empty untyped List proves it for the resource in the name of its file (configmaps.json,
//     bundles.fleet.cattle.io.json), or proves nothing. A List proves nothing if it has metadata.continue or
//     remainingItemCount, has a damaged item, has no end, or is in a file with a selector in its name.
//   - A List with items in several namespaces proves it in all namespaces. A List with items in one namespace may be
//     the output of `kubectl get -n`, so it proves it in that namespace only. There is one exception: if the items are
//     of one namespaced kind, and another List of the snapshot has items in several namespaces, the List proves it in
//     all namespaces, because most scripts capture each resource in the same way. An empty List proves it in all
//     namespaces, unless some Lists have items in one namespace and no List has items in several. Each List proves it
//     for cluster-scoped objects.
//   - Separate documents prove nothing.
//   - A manifest (see Manifest) states it, and is used instead of these rules.
package snapshot

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot/files"
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

// Describe returns the origin of the snapshot and its gaps. It never fails.
func (s *Snapshot) Describe(context.Context) (source.Description, error) {
	d := s.description
	d.Paths, d.Notes, d.Gaps = slices.Clone(d.Paths), slices.Clone(d.Notes), slices.Clone(d.Gaps)
	return d, nil
}

// Kinds lists the kinds of captured objects, typed Lists and definitions. Whether all objects of a kind were captured
// is the coverage of a List. It never fails.
func (s *Snapshot) Kinds(context.Context) (*source.Kinds, error) { return s.kinds, nil }

// List yields the objects of a kind, sorted by namespace and name, in the versions in which they were captured. The
// namespaces of a query do not exclude cluster-scoped objects. A List with a selector that a snapshot does not support
// covers nothing.
func (s *Snapshot) List(
	ctx context.Context, q source.Query, yield func(source.Object) error,
) (source.Coverage, error) {
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
		item := object.Item{Raw: e.raw, ManagedFields: e.managed}
		if err := yield(source.Object{Item: item, Kind: gk.WithVersion(e.version), Partial: e.partial}); err != nil {
			return source.Coverage{}, err
		}
	}
	if selector := s.selected[gk]; selector != "" && !narrower(q, selector) {
		detail := "only objects with the label " + selector + " were captured"
		return source.NotCovered(source.Failure{Reason: source.NotInSnapshot, Detail: detail}), nil
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
		everywhere := len(q.Namespaces) == 0 || e.key.Namespace == ""
		if !everywhere && !slices.Contains(q.Namespaces, e.key.Namespace) {
			return false
		}
		if !byField.Empty() && !byField.Matches(e.fields()) {
			return false
		}
		return byLabel.Empty() || byLabel.Matches(e.labelSet())
	}, ""
}

func (e *entry) fields() fields.Set {
	return fields.Set{"metadata.name": e.key.Name, "metadata.namespace": e.key.Namespace, "type": e.typ}
}

// entry is one object.
type entry struct {
	key      object.Key
	version  string // of its kind
	raw      []byte // compact JSON
	managed  []byte // the managedFields, if they are not in raw
	typ      string // the field "type"
	repeated bool   // it was found more than once
	partial  bool   // not all of its fields were captured

	resourceVersion string
	file            string // displayed name
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

// store has each object once.
type store struct {
	entries  []entry
	byKey    map[object.Key]int
	repeated files.Tally // of objects that were found more than once
}

// put keeps the newest copy of an object. A copy with a valid resourceVersion is preferred to one without, because more
// may have been removed from the latter. Of two copies without, put keeps the one that was read last.
func (s *store) put(e entry) {
	i, ok := s.byKey[e.key]
	if !ok {
		s.byKey[e.key] = len(s.entries)
		s.entries = append(s.entries, e)
		return
	}
	old := &s.entries[i]
	if !old.repeated {
		s.repeated.Add(files.Shown(e.key.String()) + " in " + old.file + " and " + e.file)
	}
	e.repeated, old.repeated = true, true
	if e.replaces(old) {
		*old = e
	}
}

func (e *entry) replaces(old *entry) bool {
	order, err := resourceversion.CompareResourceVersion(e.resourceVersion, old.resourceVersion)
	if err == nil {
		return order > 0
	}
	return valid(e.resourceVersion) || !valid(old.resourceVersion)
}

func valid(resourceVersion string) bool {
	_, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion)
	return err == nil
}

// byKind returns the objects of each kind, sorted by namespace and name.
func (s *store) byKind() map[schema.GroupKind][]entry {
	slices.SortFunc(s.entries, func(a, b entry) int { return a.key.Compare(b.key) })
	out := map[schema.GroupKind][]entry{}
	for i, e := range s.entries {
		gk := e.key.GroupKind()
		out[gk] = s.entries[i-len(out[gk]) : i+1]
	}
	return out
}
