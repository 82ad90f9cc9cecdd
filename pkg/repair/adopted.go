// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ownershipChange writes only ownership metadata: it adopts an object, or undoes that.
type ownershipChange struct{}

func (ownershipChange) prepare(context.Context, Client, *Item) error { return nil }

func (ownershipChange) try(ctx context.Context, c Client, i *Item) error {
	patch, err := i.patch()
	if err != nil {
		return final{err}
	}
	writing, cancel := context.WithTimeout(ctx, requestTimeout)
	stored, err := c.Patch(writing, i.Ref, patch)
	cancel()
	switch {
	case err == nil:
		return i.kept(stored)
	case refused(err) && !apierrors.IsInvalid(err):
		return err
	}
	// The write may be stored although it was not answered in time. A server also refuses a patch of another version.
	reading, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, readErr := c.Read(reading, i.Ref)
	switch {
	case apierrors.IsNotFound(readErr):
		return errDeleted
	case readErr != nil:
		return final{fmt.Errorf("%w; reading it again: %w", err, readErr)}
	}
	m := now.Metadata
	present := ownership.MetadataOf(m.Labels, m.Annotations)
	switch changed := i.changedSince(now, present); {
	case m.UID == i.UID && present.Equal(i.After): // the answer was lost, or another program made the same write
		return nil
	case changed != "":
		return changedError{changed}
	case m.ResourceVersion == i.ResourceVersion:
		return err
	}
	i.ResourceVersion = m.ResourceVersion
	return errors.New(err.Error()) // a refusal of the earlier version
}

// record implements maker.
func (ownershipChange) record(i *Item, e *Entry) {
	e.Before, e.After = i.Before.Values(), i.After.Values()
}

// maker makes the step of the item.
func (i *Item) maker() maker {
	if i.do == nil {
		return ownershipChange{}
	}
	return i.do
}

// kept returns an error if the server did not keep a write that it accepted. An admission policy may have changed it
// before it was stored.
func (i *Item) kept(stored *object.Meta) error {
	lost := ownership.Changes(i.After, ownership.MetadataOf(stored.Metadata.Labels, stored.Metadata.Annotations))
	if len(lost) == 0 {
		return nil
	}
	return final{errors.New("the server accepted the write, but did not keep it: " + describe(lost) +
		"; an admission webhook or policy of the cluster may have changed it")}
}

// changedSince returns what happened to the object since the plan was made, so that it is not written; empty if it is
// still to be written.
func (i *Item) changedSince(now *object.Meta, present ownership.Metadata) string {
	switch m := now.Metadata; {
	case m.UID != i.UID:
		return errReplaced.what
	case !present.Equal(i.Before):
		return "its ownership metadata was changed in the meantime"
	case m.DeletionTimestamp != "":
		return "it is being deleted"
	case i.Action == report.ActionAdopt && now.Controller() != "":
		return "it is controlled by " + now.Controller() + " now"
	case i.Unchanged && m.ResourceVersion != i.ResourceVersion:
		return "it was written to after the plan was made: it is not known whether it is still as the bundle desires it"
	}
	return ""
}

// patch returns the JSON merge patch that makes the changes of the item. Its uid and resourceVersion are preconditions:
// the server refuses it if the object was replaced, or written to since it was read.
func (i *Item) patch() ([]byte, error) {
	metadata := map[string]any{"uid": i.UID, "resourceVersion": i.ResourceVersion}
	for _, c := range i.Changes {
		field := c.Field + "s"
		keys, ok := metadata[field].(map[string]*string)
		if !ok {
			keys = map[string]*string{}
			metadata[field] = keys
		}
		keys[c.Key] = c.New
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// describe lists the present values of keys.
func describe(changes []ownership.Change) string {
	var out []string
	for _, c := range changes {
		value := "gone"
		if c.New != nil {
			value = fmt.Sprintf("%q", *c.New)
		}
		out = append(out, fmt.Sprintf("%s %s is %s", c.Field(), c.Name, value))
	}
	return strings.Join(out, ", ")
}
