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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// WebhookLabel selects the configurations of the admission webhook that sets the same ownership metadata.
const WebhookLabel = "app.kubernetes.io/name=fleetdoctor-webhook"

// requestTimeout limits one request, so that an interrupted adoption does not wait for a server that no longer answers.
const requestTimeout = 30 * time.Second

// stepTimeout limits a step of several requests, one of which may wait until an object is gone.
const stepTimeout = 2 * requestTimeout

// retries is the backoff for an object that others write to at the same time: 10 ms at first, some seconds in total.
var retries = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 12}

// Apply writes the items and sets their outcomes, wave by wave. It calls settled once for each item that it tried. If
// settled returns an error, or ctx ends, Apply starts no other write. It waits for writes in progress until finish
// ends. It returns the error of settled, or the cause of the end of ctx if items were not tried. A refusal by the
// server is an outcome, not an error.
func Apply(ctx, finish context.Context, on Clients, items []Item, settled func(index int) error) error {
	waves := map[int][]int{}
	for i := range items {
		if items[i].Writes() {
			items[i].Outcome = report.OutcomeNotTried
			waves[items[i].wave()] = append(waves[items[i].wave()], i)
		}
	}
	for _, wave := range slices.Sorted(maps.Keys(waves)) {
		if err := applyWave(ctx, finish, on, items, waves[wave], settled); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(items, func(i Item) bool { return i.Outcome == report.OutcomeNotTried }) {
		return context.Cause(ctx)
	}
	return nil // ctx may have ended during the last write
}

// applyWave writes the items with these indexes, up to Concurrency at a time.
func applyWave(ctx, finish context.Context, on Clients, items []Item, wave []int, settled func(index int) error) error {
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
			switch c := on(item.On); {
			case c == nil:
				item.fail(captured)
			case item.do != nil:
				item.make(finish, c, running.Done())
			default:
				item.write(finish, c, running.Done())
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
		err := i.do.try(writing, c, i)
		cancel()
		changed, isChanged := errors.AsType[changedError](err)
		_, isFinal := errors.AsType[final](err)
		switch {
		case err == nil:
			i.Outcome = report.OutcomeDone
		case isChanged:
			i.Outcome, i.Message = report.OutcomeChanged, changed.what
		case ctx.Err() != nil:
			i.fail(interrupted)
			i.Unanswered = true
		case isFinal, refused(err):
			i.fail(err.Error())
		case backoff.Steps == 0:
			i.fail(fmt.Sprintf(busy, err))
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

const (
	interrupted = "interrupted before the server answered: whether it was written is not known"
	busy        = "other programs write to it all the time: %v"
)

// write writes the item and sets its outcome. The end of ended prevents another try.
func (i *Item) write(ctx context.Context, p Client, ended <-chan struct{}) {
	for backoff := retries; ; {
		now, err := i.try(ctx, p)
		switch {
		case err == nil:
			i.written(now)
		case ctx.Err() != nil:
			i.fail(interrupted)
			i.Unanswered = true
		case now == nil:
			i.fail(err.Error())
		case i.settledBy(now):
		case refused(err) && now.Metadata.ResourceVersion == i.ResourceVersion:
			i.fail(err.Error())
		case backoff.Steps == 0:
			i.fail(fmt.Sprintf(busy, err))
		default:
			i.ResourceVersion = now.Metadata.ResourceVersion
			select {
			case <-time.After(backoff.Step()):
				continue
			case <-ended: // the outcome stays NotTried
			}
		}
		return
	}
}

// written sets the outcome of a write that the server accepted. An admission policy may have changed it before it was
// stored.
func (i *Item) written(stored *object.Meta) {
	lost := ownership.Changes(i.After, ownership.MetadataOf(stored.Metadata.Labels, stored.Metadata.Annotations))
	if len(lost) == 0 {
		i.Outcome = report.OutcomeDone
		return
	}
	i.fail("the server accepted the write, but did not keep it: " + describe(lost) +
		"; an admission webhook or policy of the cluster may have changed it")
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

// gone represents an object that does not exist.
var gone = &object.Meta{}

// try writes once, and returns the metadata that the server stored. If the write fails and the state of the object is
// not known, try returns the present metadata of the object with the error.
func (i *Item) try(ctx context.Context, p Client) (*object.Meta, error) {
	patch, err := i.patch()
	if err != nil {
		return nil, err
	}
	writing, cancel := context.WithTimeout(ctx, requestTimeout)
	stored, err := p.Patch(writing, i.Ref, patch)
	cancel()
	switch {
	case err == nil:
		return stored, nil
	case refused(err) && !apierrors.IsInvalid(err):
		return nil, err
	}
	// the write may be stored although it was not answered in time
	reading, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, readErr := p.Read(reading, i.Ref)
	switch {
	case apierrors.IsNotFound(readErr):
		return gone, err
	case readErr != nil:
		return nil, fmt.Errorf("%w; reading it again: %w", err, readErr)
	}
	return now, err
}

// settledBy sets the outcome that follows from the present metadata of the object. It returns false if the item is
// still to be written.
func (i *Item) settledBy(now *object.Meta) bool {
	m := now.Metadata
	present := ownership.MetadataOf(m.Labels, m.Annotations)
	var changed string
	switch {
	case now == gone:
		changed = "it was deleted in the meantime"
	case m.UID != i.UID:
		changed = "it was deleted and created again in the meantime"
	// this write was stored and its answer was lost, or another program made the same write
	case present.Equal(i.After):
		i.Outcome = report.OutcomeDone
		return true
	case !present.Equal(i.Before):
		changed = "its ownership metadata was changed in the meantime"
	case m.DeletionTimestamp != "":
		changed = "it is being deleted"
	case i.Action == report.ActionAdopt && now.Controller() != "":
		changed = "it is controlled by " + now.Controller() + " now"
	case i.Unchanged && m.ResourceVersion != i.ResourceVersion:
		changed = "it was written to after the plan was made: it is not known whether it is still as the bundle " +
			"desires it"
	default:
		return false
	}
	i.Outcome, i.Message = report.OutcomeChanged, changed
	return true
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
