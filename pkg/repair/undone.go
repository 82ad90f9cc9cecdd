// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

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
		return changedError{"it was deleted and created again since: it is another object"}
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
		return changedError{"it was deleted and created again since: it is another object"}
	}
	i.UID = u.created
	return nil
}

func (u *uncreation) try(ctx context.Context, c Client, i *Item) error {
	_, err := c.Delete(ctx, i.Ref, i.UID)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return changedError{"it was deleted and created again since: it is another object"}
	}
	return err
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
