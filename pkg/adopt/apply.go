// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// FieldManager is the field manager of every write, by which an adoption can be told from what others write.
const FieldManager = ownership.FieldManager

// WebhookLabel selects the configurations of the admission webhook that applies the same marks.
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

// patience bounds one try, so that an interrupted adoption does not wait for a server that answers no more.
const patience = 30 * time.Second

// retries is how an object that others write to at the same time is tried again: after 10 ms at first, for some seconds in all.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 12}
}

// Unanswered is the message of an item whose write was given up before the server answered.
const Unanswered = "interrupted before the server answered: whether it was written is not known"

// Apply writes what the items say, and sets their outcomes. settled is called once for each item that was tried, as it is settled; an error
// of it, which means that it cannot be recorded what was done, stops the rest, and so does the end of ctx: writes that are under way are
// waited for until finish ends, and no other is begun. The error is one of these two; what servers refuse is an outcome, and so is a write
// that was given up (Unanswered).
func Apply(ctx, finish context.Context, p Patcher, items []Item, settled func(index int) error) error {
	g := errgroup.Group{}
	g.SetLimit(Concurrency)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // settled is for one at a time
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
			// What was begun is brought to its end: a write that was sent may be stored, whether we wait for the answer or not.
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

// write brings one item to its outcome. The end of ended keeps it from another try.
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
			return report.OutcomeFailed, fmt.Sprintf("others write to it all the time: %v", err)
		}
		item.ResourceVersion = version
		select {
		case <-time.After(backoff.Step()):
		case <-ended:
			return report.OutcomeNotTried, ""
		}
	}
}

// gone is what is known of an object that is not there.
var gone = &object.Meta{}

// try writes once. Where that failed in a way that leaves open what the object is now, it reads it again.
func try(ctx context.Context, p Patcher, item Item) (*object.Meta, error) {
	patch, err := patchOf(item)
	if err != nil {
		return nil, err
	}
	writing, cancel := context.WithTimeout(ctx, patience)
	err = p.Patch(writing, item.Ref, patch)
	cancel()
	if err == nil || refused(err) && !apierrors.IsInvalid(err) {
		return nil, err
	}
	reading, cancel := context.WithTimeout(ctx, patience) // of its own: what was not answered in time may be stored
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

// refused says whether the server said no for good. Everything else may go away, or may have come after the write was stored: somebody else
// wrote to the object, it is not the same any more, or no answer came.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) && !apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err)
}

// again judges an item anew by what its object is now. settled is false where the verdict is the same.
func again(item Item, now *object.Meta) (outcome report.Outcome, message string, settled bool) {
	if now == gone {
		return report.OutcomeChanged, "it was deleted in the meantime", true
	}
	m := now.Metadata
	stamps := ownership.StampsOf(m.Labels, m.Annotations)
	switch {
	case m.UID != item.UID:
		return report.OutcomeChanged, "it was deleted and created again in the meantime", true
	case maps.Equal(stamps, item.After):
		return report.OutcomeDone, "", true // our own write, whose answer was lost, or somebody else's with the same aim
	case !maps.Equal(stamps, item.Before):
		return report.OutcomeChanged, "its marks were changed in the meantime", true
	case m.DeletionTimestamp != "":
		return report.OutcomeChanged, "it is being deleted", true
	case item.Action == report.ActionAdopt && now.Controller() != "":
		return report.OutcomeChanged, "it is controlled by " + now.Controller() + " now", true
	}
	return "", "", false
}

// patchOf is the JSON merge patch that changes an item's keys and nothing else. uid and resourceVersion in it are preconditions: the server
// refuses it for an object that is another one, or was written to since it was read.
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
