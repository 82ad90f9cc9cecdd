// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// FieldManager is the field manager of every write. It distinguishes an adoption from other writes.
const FieldManager = ownership.FieldManager

// WebhookLabel selects the configurations of the admission webhook that sets the same ownership metadata.
const WebhookLabel = "app.kubernetes.io/name=fleetdoctor-webhook"

// Patcher reads and writes the metadata of live objects. Its errors are those of the API server (apimachinery's api/errors).
type Patcher interface {
	// Read returns the object's metadata as it is now.
	Read(ctx context.Context, ref object.Ref) (*object.Meta, error)
	// Patch applies a JSON merge patch as FieldManager.
	Patch(ctx context.Context, ref object.Ref, patch []byte) error
}

// Concurrency is how many writes are under way at once.
const Concurrency = 8

// requestTimeout bounds one request, so that an interrupted adoption does not wait for a server that no longer answers.
const requestTimeout = 30 * time.Second

// retries is the backoff for an object that others write to at the same time: 10 ms at first, some seconds in total.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 12}
}

// Unanswered is the message of an item whose write was interrupted before the server answered.
const Unanswered = "interrupted before the server answered: whether it was written is not known"

// Apply writes the items, and sets their outcomes. It calls settled once for each item that it tried. An error of settled, which means that
// an outcome cannot be recorded, stops the rest, and so does the end of ctx: Apply begins no other write, and waits for writes in progress
// until finish ends. The error is one of these two. What a server refuses is an outcome, and so is an interrupted write (Unanswered).
func Apply(ctx, finish context.Context, p Patcher, items []Item, settled func(index int) error) error {
	g := errgroup.Group{}
	g.SetLimit(Concurrency)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // for settled
	for i := range items {
		if !items[i].Writes() {
			continue
		}
		items[i].Outcome = report.OutcomeNotTried
		if ctx.Err() != nil {
			continue
		}
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			// A write in progress is completed: it may be stored whether or not we wait for the answer.
			items[i].Outcome, items[i].Message = write(finish, p, items[i], ctx.Done())
			mu.Lock()
			defer mu.Unlock()
			if err := settled(i); err != nil {
				stop(err)
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if !slices.ContainsFunc(items, func(i Item) bool { return i.Outcome == report.OutcomeNotTried }) {
		return nil // it may have been interrupted at the very last write
	}
	return context.Cause(ctx)
}

// write writes one item. The end of ended prevents another try.
func write(ctx context.Context, p Patcher, item Item, ended <-chan struct{}) (report.Outcome, string) {
	backoff := retries()
	for {
		now, err := try(ctx, p, item)
		switch {
		case err == nil:
			return report.OutcomeDone, ""
		case ctx.Err() != nil:
			return report.OutcomeFailed, Unanswered
		case now == nil:
			return report.OutcomeFailed, err.Error()
		}
		if outcome, message, settled := again(item, now); settled {
			return outcome, message
		}
		version := now.Metadata.ResourceVersion
		if refused(err) && version == item.ResourceVersion {
			return report.OutcomeFailed, err.Error()
		}
		if backoff.Steps == 0 {
			return report.OutcomeFailed, fmt.Sprintf("other programs write to it all the time: %v", err)
		}
		item.ResourceVersion = version
		select {
		case <-time.After(backoff.Step()):
		case <-ended:
			return report.OutcomeNotTried, ""
		}
	}
}

// gone stands for an object that does not exist.
var gone = &object.Meta{}

// try writes once. If it fails and the state of the object is not known, it reads the object again.
func try(ctx context.Context, p Patcher, item Item) (*object.Meta, error) {
	patch, err := patchOf(item)
	if err != nil {
		return nil, err
	}
	writing, cancel := context.WithTimeout(ctx, requestTimeout)
	err = p.Patch(writing, item.Ref, patch)
	cancel()
	if err == nil || refused(err) && !apierrors.IsInvalid(err) {
		return nil, err
	}
	reading, cancel := context.WithTimeout(ctx, requestTimeout) // a new timeout: the write may be stored although it was not answered in time
	defer cancel()
	now, readErr := p.Read(reading, item.Ref)
	switch {
	case apierrors.IsNotFound(readErr):
		return gone, err
	case readErr != nil:
		return nil, fmt.Errorf("%w; reading it again: %w", err, readErr)
	}
	return now, err
}

// refused says whether a retry is useless. Every other error may be temporary, or may have followed a stored write: another program wrote to
// the object, it is another object now, or no answer came.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) && !apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err)
}

// again evaluates an item by the present state of its object. settled is false if the item is to be written still.
func again(item Item, now *object.Meta) (outcome report.Outcome, message string, settled bool) {
	if now == gone {
		return report.OutcomeChanged, "it was deleted in the meantime", true
	}
	m := now.Metadata
	present := ownership.MetadataOf(m.Labels, m.Annotations)
	switch {
	case m.UID != item.UID:
		return report.OutcomeChanged, "it was deleted and created again in the meantime", true
	case present.Equal(item.After):
		return report.OutcomeDone, "", true // our own write, whose answer was lost, or the same write by another program
	case !present.Equal(item.Before):
		return report.OutcomeChanged, "its ownership metadata was changed in the meantime", true
	case m.DeletionTimestamp != "":
		return report.OutcomeChanged, "it is being deleted", true
	case item.Action == report.ActionAdopt && now.Controller() != "":
		return report.OutcomeChanged, "it is controlled by " + now.Controller() + " now", true
	}
	return "", "", false
}

// patchOf is the JSON merge patch that changes an item's keys and nothing else. Its uid and resourceVersion are preconditions: the server
// refuses it if the object was replaced, or written to since it was read.
func patchOf(item Item) ([]byte, error) {
	metadata := map[string]any{"uid": item.UID, "resourceVersion": item.ResourceVersion}
	for _, c := range item.Changes {
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
