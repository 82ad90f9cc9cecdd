// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// written is a desired object that a step writes.
type written struct {
	deployment *evaluate.BundleDeployment
	object     *evaluate.Object
	// secret is true for a Secret: no value of it is recorded.
	secret bool
}

// effects are the consequences of a step that writes the object.
func (w *written) effects(kind remedy.StepKind) []string {
	if w.secret && kind != remedy.StepCreate {
		return []string{"it is a Secret: its previous values are not recorded, and the undo leaves it as it is"}
	}
	return nil
}

// agents are the options with which the agent's Helm creates or updates an object. A field that another manager has is
// taken: the next deploy by the agent is then not refused.
func (w *written) agents(method source.Method) source.Apply {
	if w.deployment.ServerSide {
		return source.Apply{Manager: fleet.AgentManager, Force: true}
	}
	if method == source.Create {
		return source.Apply{Method: method, Manager: fleet.AgentManager}
	}
	return source.Apply{Method: method, Manager: ownership.FieldManager}
}

// changedError is an object that is not as it was when the plan was made.
type changedError struct{ what string }

// Error implements error.
func (e changedError) Error() string { return e.what }

// lostError is a write that the server accepted and did not keep.
var errLost = errors.New("the server accepted the write, but did not keep it: an admission webhook or policy of the " +
	"cluster may have changed it")

// uidOf returns the uid and the resourceVersion of an object.
func uidOf(content object.Content) (uid, version string) {
	metadata, _ := content["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
}

// conditional returns an object, or a patch, as JSON that the server refuses if the live object has another uid or
// version. Without a version, only the uid counts.
func conditional(content object.Content, uid, version string) ([]byte, error) {
	out := make(object.Content, len(content)+1)
	for name, v := range content {
		out[name] = v
	}
	metadata := map[string]any{"uid": uid}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if stated, ok := content["metadata"].(map[string]any); ok {
		for name, v := range stated {
			if metadata[name] == nil {
				metadata[name] = v
			}
		}
	}
	out["metadata"] = metadata
	return json.Marshal(out)
}

// creation creates a missing object.
type creation struct {
	written
	tried bool
	uid   string // of the object that was created
}

func (c *creation) prepare(context.Context, Client, *Item) error { return nil }

func (c *creation) try(ctx context.Context, client Client, i *Item) error {
	content, err := c.deployment.Manifest(c.object)
	if err != nil {
		return err
	}
	content = compare.Stored(content)
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	as := c.agents(source.Create)
	if as.Method == source.ServerSide || c.tried {
		now, err := client.Content(ctx, i.Ref)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		case c.tried && compare.HasMerged(now, body): // the answer was lost
			c.uid, _ = uidOf(now)
			return nil
		default:
			return changedError{"it exists now"}
		}
	}
	c.tried = true
	as.Force = false // it does not exist
	stored, err := client.Send(ctx, i.Ref, as, body, false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return changedError{"it exists now"}
	case apierrors.IsNotFound(err): // its namespace
		return final{err}
	case err == nil:
		c.uid, _ = uidOf(stored)
	}
	return err
}

func (c *creation) record(*Entry) {}

func (c *creation) created() string { return c.uid }

// final is an error after which a retry is useless.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

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
		return nil, changedError{"it was deleted in the meantime"}
	case err != nil:
		return nil, err
	case uid != i.UID:
		return nil, changedError{"it was deleted and created again in the meantime"}
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

func (r *restoration) record(e *Entry) {
	if !r.secret {
		e.Forward, e.Undo = r.forward, r.undo
	}
}

// recreation deletes an object, and creates it.
type recreation struct {
	creation
	previous object.Content // nil for a Secret, and for a Job that does not exist
}

func (r *recreation) prepare(ctx context.Context, client Client, i *Item) (err error) {
	if i.UID == "" {
		return nil
	}
	r.previous, err = previous(ctx, client, i, r.secret)
	return err
}

// previous reads the object that a step deletes; nil for a Secret.
func previous(ctx context.Context, client Client, i *Item, secret bool) (object.Content, error) {
	live, err := client.Content(ctx, i.Ref)
	uid, _ := uidOf(live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, changedError{"it was deleted in the meantime"}
	case err != nil:
		return nil, err
	case i.UID != "" && uid != i.UID:
		return nil, changedError{"it was deleted and created again in the meantime"}
	}
	i.UID = uid
	if secret {
		return nil, nil
	}
	return compare.Stored(live), nil
}

// goneAfter is how long a deleted object may exist; another pause follows after each look at it.
const (
	goneAfter = 30 * time.Second
	lookAgain = 100 * time.Millisecond
)

func (r *recreation) try(ctx context.Context, client Client, i *Item) error {
	if i.UID != "" && !r.tried {
		if err := deleted(ctx, client, i); err != nil {
			return err
		}
	}
	return r.creation.try(ctx, client, i)
}

// deleted deletes the object of an item, and waits until it is gone.
func deleted(ctx context.Context, client Client, i *Item) error {
	if err := client.Delete(ctx, i.Ref, i.UID); err != nil && !apierrors.IsNotFound(err) {
		if apierrors.IsConflict(err) {
			return changedError{"it was deleted and created again in the meantime"}
		}
		return err
	}
	for until := time.Now().Add(goneAfter); ; {
		now, err := client.Read(ctx, i.Ref)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case now.Metadata.UID != i.UID:
			return changedError{"another program created it again"}
		case time.Now().After(until):
			return final{fmt.Errorf("it is still being deleted after %s: a finalizer keeps it; run repair again when "+
				"it is gone", goneAfter)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (r *recreation) record(e *Entry) { e.Previous = r.previous }

// removal deletes what is left over.
type removal struct {
	secret   bool
	previous object.Content
}

func (r *removal) prepare(ctx context.Context, client Client, i *Item) (err error) {
	r.previous, err = previous(ctx, client, i, r.secret)
	return err
}

func (r *removal) try(ctx context.Context, client Client, i *Item) error {
	err := client.Delete(ctx, i.Ref, i.UID)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return changedError{"it was deleted and created again in the meantime"}
	}
	return err
}

func (r *removal) record(e *Entry) { e.Previous = r.previous }

// request asks a controller or an agent of Fleet, through a field of one of Fleet's objects.
type request struct {
	step remedy.Step
	undo json.RawMessage
}

func (r *request) prepare(ctx context.Context, client Client, i *Item) error {
	before, err := client.Content(ctx, i.Ref)
	if err != nil {
		return err
	}
	i.UID, _ = uidOf(before)
	if r.step.Kind == remedy.StepResume {
		r.undo, err = compare.Inverse(before, []byte(r.step.Patch))
	}
	return err
}

func (r *request) try(ctx context.Context, client Client, i *Item) error {
	content, _, err := object.Decode([]byte(r.step.Patch))
	if err != nil {
		return err
	}
	body, err := conditional(content, i.UID, "")
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, i.Ref, source.Apply{Method: source.Merge, Manager: ownership.FieldManager,
		Subresource: r.step.Subresource}, body, false)
	return err
}

func (r *request) record(e *Entry) {
	if r.undo != nil {
		e.Forward, e.Undo = json.RawMessage(r.step.Patch), r.undo
	}
}
