// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// mostNamespaces is the maximum number of namespaces that are listed one by one. If there are more, the whole kind is
// listed.
const mostNamespaces = 20

// PlanUndo decides for every object of a receipt how it gets its previous ownership metadata. It ignores the outcomes
// in the receipt: an object with its previous metadata needs no change, and an object with neither the previous nor the
// written metadata has another owner. So an undo can be repeated, and an adoption that was killed at any point can be
// undone.
func PlanUndo(ctx context.Context, src source.Source, entries []Entry) ([]Item, error) {
	byKind := map[schema.GroupVersionKind][]*Item{}
	out := make([]Item, len(entries))
	for i, e := range entries {
		out[i] = Item{Before: ownership.FromValues(e.After), After: ownership.FromValues(e.Before),
			AdoptedObject: report.AdoptedObject{Ref: e.Ref, UID: e.UID,
				BundleDeployment: e.BundleDeployment, Release: e.Release}}
		byKind[e.GroupVersionKind()] = append(byKind[e.GroupVersionKind()], &out[i])
	}
	g, ctx := errgroup.WithContext(ctx)
	for gvk, items := range byKind {
		g.Go(func() error { return undoKind(ctx, src, gvk, items) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	sortItems(out)
	return out, nil
}

// undoKind lists one kind and plans the undo of its objects.
func undoKind(ctx context.Context, src source.Source, gvk schema.GroupVersionKind, items []*Item) error {
	byKey, namespaces := map[object.Key][]*Item{}, map[string]bool{}
	for _, item := range items {
		byKey[item.Key()] = append(byKey[item.Key()], item)
		namespaces[item.Namespace] = true
	}
	q := source.Query{Kind: gvk, MetadataOnly: true, Fallback: slices.Sorted(maps.Keys(namespaces))}
	if len(namespaces) <= mostNamespaces && !namespaces[""] {
		q.Namespaces = q.Fallback
	}
	undecoded := false
	cover, err := src.List(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		undecoded = undecoded || err != nil // it may be any of those that are not found
		if err == nil {
			for _, item := range byKey[m.Ref().Key()] {
				planUndo(item, m)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if undecoded {
		cover = source.NotCovered(source.Failure{Reason: source.ReadFailed,
			Detail: "an object of its kind could not be decoded"})
	}
	for _, item := range items {
		f, covered := cover.Of(item.Namespace)
		switch {
		case item.Action != "": // it was found
		case covered:
			item.Action, item.Message = report.ActionNone, "it does not exist any more"
		default:
			item.Action, item.Refusals = report.ActionRefuse,
				[]string{fmt.Sprintf("it could not be read: %s %s", f.Reason, f.Detail)}
		}
	}
	return nil
}

// planUndo restores each key that still has the written value. A key that has another value was changed since the
// adoption, and is left.
func planUndo(item *Item, m *object.Meta) {
	item.ResourceVersion = m.Metadata.ResourceVersion
	now := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	restored, left := now.Undo(item.Before, item.After)
	item.Action = report.ActionRefuse
	switch {
	case m.Metadata.UID != item.UID:
		item.Refusals = []string{"it was deleted and created again since: it is another object"}
	case slices.ContainsFunc(left, ownership.Change.NamesOwner): // it would lose the object without the other keys
		item.Refusals = []string{"its owner was changed since: " + describe(left)}
	case restored.Equal(now) && len(left) > 0:
		item.Refusals = []string{"no key has the value that was written: " + describe(left)}
	case restored.Equal(now):
		item.Action, item.Message = report.ActionNone, "it has its previous ownership metadata"
	case m.Metadata.DeletionTimestamp != "":
		item.Refusals = []string{"it is being deleted"}
	default:
		item.Action, item.Changes = report.ActionRestore, changes(now, restored)
		if len(left) > 0 {
			item.Effects = []string{"a key that was changed since keeps its value: " + describe(left)}
		}
	}
	item.Before, item.After = now, restored
}
