// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// restoration gives the fields that differ their desired values.
type restoration struct {
	written
	target *compare.Target
	live   map[string]any // the values of the fields that differ, by path
	// version is that of the object that target is for; empty if it must be read again.
	version string
	// forward and undo are the merge patches that make the change, and that undo it.
	forward, undo json.RawMessage
}

// read reads the live object, and makes the target for it.
func (r *restoration) read(ctx context.Context, client Client, i *Item) (live object.Content, err error) {
	live, err = client.Content(ctx, i.Ref)
	switch uid, version := uidOf(live); {
	case apierrors.IsNotFound(err):
		return nil, errDeleted
	case err != nil:
		return nil, err
	case uid != i.UID:
		return nil, errReplaced
	default:
		r.version = version
	}
	desired, err := r.deployment.Manifest(r.object)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, d := range r.object.Differences {
		paths = append(paths, d.Path)
	}
	r.target, err = compare.NewTarget(r.deployment.Rules(r.object), r.object.Ref, compare.Stored(desired), live, paths)
	return live, err
}

// prepare asks the server whether it would accept the change, and records what an undo needs.
func (r *restoration) prepare(ctx context.Context, client Client, i *Item) error {
	live, err := r.read(ctx, client, i)
	if err != nil {
		return err
	}
	r.live = r.target.Live()
	restored, err := r.send(ctx, client, i, live, true)
	if err != nil {
		return err
	}
	if restored, err = r.target.Finished(restored); err != nil {
		return err
	}
	others := r.target.Beyond(live, restored)
	switch {
	case len(others) > 0 && len(i.Restores) > 0:
		i.Effects = append(i.Effects, "it also changes "+shortened(others)+", as the next deploy by Helm does")
	case len(others) > 0:
		i.Effects = append(i.Effects, "it changes "+shortened(others)+", which Fleet does not compare, to the values "+
			"of the release")
	case len(i.Restores) == 0:
		i.refuse("the object has the values of the release: set the fields that the message names by hand, to what " +
			"the bundle states")
		return nil
	}
	forward, forwardErr := compare.MergePatch(live, restored)
	undo, undoErr := compare.MergePatch(restored, live)
	r.forward, r.undo = forward, undo
	return errors.Join(forwardErr, undoErr)
}

// send makes the change, and returns the object.
func (r *restoration) send(ctx context.Context, client Client, i *Item, live object.Content, dry bool) (object.Content,
	error) {
	as, body := r.agents(source.Merge), r.target.Content
	if as.Method != source.ServerSide {
		merged, err := r.target.Merged()
		if err != nil {
			return nil, err
		}
		return r.patch(ctx, client, i, live, merged, dry)
	}
	apply, err := conditional(body, i.UID, r.version)
	if err != nil {
		return nil, err
	}
	return client.Send(ctx, i.Ref, as, apply, dry)
}

// patch changes the live object into another one.
func (r *restoration) patch(ctx context.Context, client Client, i *Item, from, to object.Content, dry bool) (
	object.Content, error) {
	change, err := compare.MergePatch(from, to)
	if err != nil {
		return nil, err
	}
	content, _, err := object.Decode(change)
	if err != nil {
		return nil, err
	}
	_, version := uidOf(from)
	body, err := conditional(content, i.UID, version)
	if err != nil {
		return nil, err
	}
	return client.Send(ctx, i.Ref, source.Apply{Method: source.Merge, Manager: ownership.FieldManager}, body, dry)
}

func (r *restoration) try(ctx context.Context, client Client, i *Item) error {
	var live object.Content
	if r.version == "" || !r.deployment.ServerSide {
		var err error
		if live, err = r.read(ctx, client, i); errors.Is(err, compare.ErrNotExact) {
			return changedError{"its fields were changed in the meantime"}
		} else if err != nil {
			return err
		}
		if r.live != nil && !reflect.DeepEqual(r.live, r.target.Live()) {
			return changedError{"its fields were changed in the meantime"}
		}
	}
	stored, err := r.send(ctx, client, i, live, false)
	if err != nil {
		r.version = ""
		return err
	}
	if r.target.Restored(stored) {
		return nil
	}
	finished, err := r.target.Finished(stored)
	if err != nil {
		return final{errLost}
	}
	if stored, err = r.patch(ctx, client, i, stored, finished, false); err != nil {
		r.version = ""
		return err
	}
	if !r.target.Restored(stored) {
		return final{errLost}
	}
	return nil
}

func (r *restoration) record(_ *Item, e *Entry) {
	if !r.secret {
		e.Forward, e.Undo = r.forward, r.undo
	}
}
