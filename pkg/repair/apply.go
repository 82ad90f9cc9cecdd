// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

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
			if c := on(item.On); c != nil {
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
