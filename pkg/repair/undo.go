// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// mostNamespaces is the maximum number of namespaces that are listed one by one. If there are more, the whole kind is
// listed.
const mostNamespaces = 20

// Undo plans the undo of a receipt. A receipt is a file that somebody may have changed: only what a repair wrote is
// undone, and of an adoption only what adopt would take with the same options. So an undo takes no object from its
// owner.
type Undo struct {
	// Clusters are those of the entries, by the uid that the entries state.
	Clusters map[string]UndoCluster
	// TakeFrom names the owners that get their objects back although they exist.
	TakeFrom []string
}

// UndoCluster is a cluster on which steps are undone.
type UndoCluster struct {
	ID     object.ClusterID
	Source source.Source
	// Client is nil for a snapshot.
	Client Client
	// Facts describe the cluster, as far as it is known.
	Facts ownership.Facts
}

// Plan decides for every object of a receipt how its step is undone. It ignores the outcomes in the receipt: an object
// that is as it was before the step needs no change, and an object that is neither as before nor as the step left it
// was changed since. So an undo can be repeated, and a repair that was killed at any point can be undone.
func (u Undo) Plan(ctx context.Context, entries []Entry) ([]Item, error) {
	type list struct {
		cluster string
		kind    schema.GroupVersionKind
	}
	lists := map[list][]*Item{}
	out := make([]Item, len(entries))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Concurrency)
	for n, e := range entries {
		target, known := u.Clusters[e.ClusterUID]
		i := &out[n]
		*i = Item{Before: ownership.FromValues(e.After), After: ownership.FromValues(e.Before), ClusterID: target.ID,
			undo: true, RepairedObject: report.RepairedObject{Ref: e.Ref, UID: e.UID, Cluster: string(target.ID),
				Step: e.Step, BundleDeployment: e.BundleDeployment, Release: e.Release}}
		switch {
		case !known:
			i.refuse("it is on another cluster, with the uid " + e.ClusterUID + ", which is not read")
		case e.adopts():
			place := list{e.ClusterUID, e.GroupVersionKind()}
			lists[place] = append(lists[place], i)
		default:
			g.Go(func() error {
				u.step(ctx, target.Client, i, e)
				return ctx.Err()
			})
		}
	}
	for place, items := range lists {
		g.Go(func() error { return u.kind(ctx, u.Clusters[place.cluster], place.kind, items) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	sortItems(out)
	return out, nil
}

// step decides how a step is undone that wrote more than ownership metadata.
func (u Undo) step(ctx context.Context, c Client, i *Item, e Entry) {
	switch {
	case c == nil:
		i.refuse("the undo of this step needs a live cluster")
		return
	case e.Step == remedy.StepCreate:
		i.Action, i.do = report.ActionRemove, &uncreation{created: e.Created}
	case e.Undo != nil:
		i.Action, i.do = report.ActionRestore, &reversal{forward: e.Forward, undo: e.Undo}
	case e.Previous != nil:
		i.Action, i.do = report.ActionCreate, &revival{previous: e.Previous, created: e.Created}
	case e.IsSecret():
		i.Action, i.Message = report.ActionNone, "it is a Secret, whose previous values were not recorded"
		return
	default:
		i.Action, i.Message = report.ActionNone, "this step cannot be undone"
		return
	}
	err := i.do.prepare(ctx, c, i)
	changed, isChanged := errors.AsType[changedError](err)
	switch {
	case errors.Is(err, errUndone):
		i.Action, i.Message = report.ActionNone, "it is as it was before"
	case isChanged:
		i.refuse(changed.what)
	case err != nil:
		i.refuse(fmt.Sprintf("it could not be read: %v", err))
	}
}

// kind lists one kind and plans the undo of its objects.
func (u Undo) kind(ctx context.Context, cluster UndoCluster, gvk schema.GroupVersionKind, items []*Item) error {
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
	cover, err := cluster.Source.List(ctx, q, func(o source.Object) error {
		m, err := o.ReadMeta()
		undecoded = undecoded || err != nil // it may be any of those that are not found
		if err == nil {
			for _, item := range byKey[m.Ref().Key()] {
				u.object(cluster.Facts, item, m, o)
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
			item.refuse(fmt.Sprintf("it could not be read: %s %s", f.Reason, f.Detail))
		}
	}
	return nil
}

// object restores each key that still has the written value. A key that has another value was changed since the
// adoption, and is left.
func (u Undo) object(facts ownership.Facts, item *Item, m *object.Meta, live source.Object) {
	item.ResourceVersion = m.Metadata.ResourceVersion
	now := ownership.MetadataOf(m.Metadata.Labels, m.Metadata.Annotations)
	written := item.Before
	restored, left := now.Undo(written, item.After)
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
		item.Refusals = append(notWritten(live, ownership.Changes(now, restored)), u.refusals(facts, item)...)
	}
	if item.Action == report.ActionRefuse && len(item.Refusals) == 0 {
		item.Action, item.Changes = report.ActionRestore, changes(now, restored)
		if len(left) > 0 {
			item.Effects = []string{"a key that was changed since keeps its value: " + describe(left)}
		}
	}
	item.Before, item.After = now, restored
}

// notWritten refuses to restore keys for which the object does not record that adopt wrote them.
func notWritten(live source.Object, restores []ownership.Change) []string {
	content, managedFields, err := live.Decode()
	var managers *compare.Managers
	if err == nil {
		managers, err = compare.ReadManagers(managedFields, content)
	}
	if err != nil {
		return []string{"its managedFields, which show what adopt wrote, could not be decoded"}
	}
	const changed = "its managedFields do not show that adopt wrote %s: the receipt may have been changed"
	var out []string
	wrote := false
	for _, c := range restores {
		path := fieldpath.MakePathOrDie("metadata", c.Field()+"s", c.Name)
		switch {
		case c.Old == nil: // adopt removed it, which managedFields do not record
		case managers.Wrote(ownership.FieldManager, path):
			wrote = true
		default:
			out = append(out, fmt.Sprintf(changed, c.Field()+" "+c.Name))
		}
	}
	if !wrote && len(out) == 0 {
		out = append(out, fmt.Sprintf(changed, "any key"))
	}
	return out
}

// refusals refuses to give an object to an owner from which adopt would not have taken it.
func (u Undo) refusals(facts ownership.Facts, item *Item) []string {
	written, previous := item.Before, item.After
	r := ownership.Evaluate(facts, ownership.Claim{Object: item.Key(), Have: previous,
		Bundle: ownership.Bundle{Deployment: item.BundleDeployment, Release: written.Release(), Desired: written}})
	r.Same = true
	_, err := r.Decide(ownership.IfUnowned, u.TakeFrom)
	refusal, ok := errors.AsType[*ownership.RefusalError](err)
	if !ok {
		return nil
	}
	var out []string
	for _, c := range refusal.Conflicts {
		out = append(out, fmt.Sprintf("before the adoption it had ownership metadata of %s, which exists or may "+
			"exist; --dangerous-take-from=%s restores it anyway", c.Owner, c.Name()))
	}
	return out
}

// NoFacts are the facts about a cluster that was not read.
type NoFacts struct{}

// BundlesOf implements ownership.Facts.
func (NoFacts) BundlesOf(string) []ownership.Bundle { return nil }

// Release implements ownership.Facts.
func (NoFacts) Release(name string, bundle ownership.Bundle) ownership.Existence {
	if name == bundle.Desired.Release() {
		return ownership.Own
	}
	return ownership.NotDecided
}

// SetsKnown implements ownership.Facts.
func (NoFacts) SetsKnown(object.Key) bool { return false }

// errOther is an object that was replaced after the step.
var errOther = changedError{"it was deleted and created again since: it is another object"}

// errUndone is returned for an object that needs no undo.
var errUndone = errors.New("it needs no undo")

// reversal undoes a change of fields.
type reversal struct{ forward, undo json.RawMessage }

func (r *reversal) prepare(ctx context.Context, c Client, i *Item) error {
	live, err := c.Content(ctx, i.Ref)
	uid, version := uidOf(live)
	switch {
	case apierrors.IsNotFound(err):
		return changedError{"it does not exist any more"}
	case err != nil:
		return err
	case uid != i.UID:
		return errOther
	case compare.HasMerged(live, r.undo):
		return errUndone
	case !compare.HasMerged(live, r.forward):
		return changedError{"the fields that were restored have been changed since"}
	}
	i.ResourceVersion = version
	return nil
}

func (r *reversal) try(ctx context.Context, c Client, i *Item) error {
	if i.ResourceVersion == "" {
		if err := r.prepare(ctx, c, i); err != nil {
			return doneIf(err)
		}
	}
	change, _, err := object.Decode(r.undo)
	if err != nil {
		return final{err}
	}
	body, err := conditional(change, i.UID, i.ResourceVersion)
	if err != nil {
		return err
	}
	i.ResourceVersion = ""
	_, err = c.Send(ctx, i.Ref, source.Apply{Method: source.Merge, Manager: ownership.FieldManager}, body, false)
	return err
}

// doneIf returns nil if nothing is left to undo.
func doneIf(err error) error {
	if errors.Is(err, errUndone) {
		return nil
	}
	return err
}

// uncreation deletes an object that a repair created.
type uncreation struct{ created string }

func (u *uncreation) prepare(ctx context.Context, c Client, i *Item) error {
	now, err := c.Read(ctx, i.Ref)
	switch {
	case apierrors.IsNotFound(err):
		return errUndone
	case err != nil:
		return err
	case u.created == "":
		return changedError{"it is not known whether the repair created it: the receipt has no outcome for it"}
	case now.Metadata.UID != u.created:
		return errOther
	}
	i.UID = u.created
	return nil
}

func (u *uncreation) try(ctx context.Context, c Client, i *Item) error {
	return remove(ctx, c, i, errOther)
}

// revival creates an object as it was before it was deleted, in the place of the one that was created.
type revival struct {
	previous object.Content
	created  string
	tried    bool
}

func (r *revival) prepare(ctx context.Context, c Client, i *Item) error {
	now, err := c.Content(ctx, i.Ref)
	uid, _ := uidOf(now)
	switch {
	case apierrors.IsNotFound(err):
		i.UID = ""
		return nil
	case err != nil:
		return err
	case uid == i.UID:
		return errUndone // it was not deleted
	}
	if is, err := json.Marshal(r.previous); err == nil && compare.HasMerged(now, is) {
		return errUndone
	}
	if r.created == "" || uid != r.created {
		return changedError{"another object has its name now"}
	}
	i.UID = uid
	return nil
}

func (r *revival) try(ctx context.Context, c Client, i *Item) error {
	if r.tried {
		if err := r.prepare(ctx, c, i); err != nil {
			return doneIf(err)
		}
	}
	r.tried = true
	if i.UID != "" {
		if gone, err := deleted(ctx, c, i); err != nil || !gone {
			return err
		}
	}
	body, err := json.Marshal(compare.Stored(r.previous))
	if err != nil {
		return final{err}
	}
	_, err = c.Send(ctx, i.Ref, source.Apply{Method: source.Create, Manager: ownership.FieldManager}, body, false)
	return err
}
