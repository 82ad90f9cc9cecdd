// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
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

// Prepare reads what the steps of a plan change, and asks the server whether it accepts them. What the server refuses
// is refused by the plan. Nothing is stored. The error is that of ctx.
func Prepare(ctx context.Context, clients Clients, items []Item, allow []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Concurrency)
	for n := range items {
		i := &items[n]
		c := clients(i.ClusterID)
		switch {
		case !i.Writes():
			continue
		case c == nil:
			i.refuse(captured)
			continue
		}
		g.Go(func() error {
			i.prepare(ctx, c, allow)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	holdDeploys(items)
	return nil
}

func (i *Item) prepare(ctx context.Context, c Client, allow []string) {
	err := i.maker().prepare(ctx, c, i)
	if r, ok := i.do.(*restoration); ok && apierrors.IsInvalid(err) {
		i.recreate(r.written, err, allow)
		if !i.Writes() {
			return
		}
		err = i.maker().prepare(ctx, c, i)
	}
	changed, isChanged := errors.AsType[changedError](err)
	switch {
	case err == nil:
	case isChanged:
		i.refuse(changed.what)
	case errors.Is(err, compare.ErrNotExact):
		i.refuse(compare.ErrNotExact.Error())
	default:
		i.refuse(fmt.Sprintf("it cannot be verified: %v", err))
	}
}

// recreate makes the item one that deletes its object and creates it: the server refuses the change.
func (i *Item) recreate(w written, why error, allow []string) {
	refuses := fmt.Sprintf("the server refuses to change these fields: %v", why)
	i.Step, i.Action, i.do = remedy.StepRecreate, report.ActionRecreate, &recreation{creation: creation{written: w}}
	i.Effects = append(i.Effects, refuses)
	i.refuse(neverDeleted(i.Ref)...)
	if flag := i.Step.Allowed(); !slices.Contains(allow, flag) {
		i.refuse(refuses + "; to delete the object and create it again needs --allow=" + flag)
	}
}

// WebhookLabel selects the configurations of the admission webhook that sets the same ownership metadata.
const WebhookLabel = "app.kubernetes.io/name=fleetdoctor-webhook"

// stepTimeout limits a step of several requests, one of which may wait until an object is gone.
const stepTimeout = 2 * requestTimeout

// retries is the backoff for an object that others write to at the same time: 10 ms at first, some seconds in total.
var retries = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 12}

// Apply writes the items and sets their outcomes, wave by wave. It calls settled once for each item that it tried. If
// settled returns an error, or ctx ends, Apply starts no other write. It waits for writes in progress until finish
// ends. It returns the error of settled, or the cause of the end of ctx if items were not tried. A refusal by the
// server is an outcome, not an error.
func Apply(ctx, finish context.Context, clients Clients, items []Item, settled func(index int) error) error {
	waves := map[int][]int{}
	for i := range items {
		if items[i].Writes() {
			items[i].Outcome = report.OutcomeNotTried
			waves[items[i].wave()] = append(waves[items[i].wave()], i)
		}
	}
	for _, wave := range slices.Sorted(maps.Keys(waves)) {
		if err := applyWave(ctx, finish, clients, items, waves[wave], settled); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(items, func(i Item) bool { return i.Outcome == report.OutcomeNotTried }) {
		return context.Cause(ctx)
	}
	return nil // ctx may have ended during the last write
}

// applyWave writes the items with these indexes, up to Concurrency at a time.
func applyWave(ctx, finish context.Context, clients Clients, items []Item, wave []int,
	settled func(index int) error,
) error {
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(Concurrency)
	var mu sync.Mutex // for settled
	for _, i := range wave {
		g.Go(func() error {
			if running.Err() != nil {
				return nil
			}
			// A write in progress is completed: the server may store it whether or not the answer is awaited.
			item := &items[i]
			if c := clients(item.ClusterID); c != nil {
				item.make(finish, c, running.Done())
			} else {
				item.fail(captured)
			}
			mu.Lock()
			defer mu.Unlock()
			return settled(i)
		})
	}
	return g.Wait()
}

// make makes the step of the item and sets its outcome. The end of ended prevents another try.
func (i *Item) make(ctx context.Context, c Client, ended <-chan struct{}) {
	for backoff := retries; ; {
		writing, cancel := context.WithTimeout(ctx, stepTimeout)
		err := i.maker().try(writing, c, i)
		cancel()
		changed, isChanged := errors.AsType[changedError](err)
		_, isFinal := errors.AsType[final](err)
		switch {
		case err == nil:
			i.Outcome = report.OutcomeDone
		case isChanged:
			i.Outcome, i.Message = report.OutcomeChanged, changed.what
		case ctx.Err() != nil:
			i.fail("interrupted before the server answered: whether it was written is not known")
			i.Unanswered = true
		case isFinal, refused(err):
			i.fail(err.Error())
		case backoff.Steps == 0:
			i.fail(fmt.Sprintf("other programs write to it all the time: %v", err))
		default:
			select {
			case <-time.After(backoff.Step()):
				continue
			case <-ended: // the outcome stays NotTried
			}
		}
		return
	}
}
