// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// evaluationTimeout is how long an evaluation may wait for the API server. What was read until then is in memory,
	// so the next evaluation continues.
	evaluationTimeout = 10 * time.Minute
	// stuckTimeout is how long an evaluation may take. Only a fault of the program takes longer.
	stuckTimeout = 15 * time.Minute
)

// StuckError means that an evaluation does not end.
type StuckError struct{ Since time.Time }

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("an evaluation began at %s, and has not ended", e.Since.UTC().Format(time.RFC3339))
}

// progress is the evaluation that runs, and what the last published state lacks. Its methods are safe for concurrent
// use.
type progress struct {
	mu    sync.Mutex
	began time.Time // zero while none runs
	// lacks is the time of the first change that was taken and is not published; zero without one. published is true if
	// a state was published.
	lacks     time.Time
	published bool
}

// take records that changes since a time are evaluated; zero without a change.
func (p *progress) take(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lacks = earliest(p.lacks, since)
}

// publish records that an evaluation which began at a time is published. With an error, it has no state.
func (p *progress) publish(began time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.lacks = earliest(p.lacks, began)
		return
	}
	p.lacks, p.published = time.Time{}, true
}

// current returns the time until which the published state has all changes that were taken until now. ok is false
// before the first state.
func (p *progress) current(now time.Time) (at time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return earliest(now, p.lacks), p.published
}

// earliest returns the earlier one of two times. A zero time does not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// evaluate runs an evaluation, with a context that ends after evaluationTimeout.
func (p *progress) evaluate(ctx context.Context, began time.Time, run func(context.Context)) {
	p.set(began)
	defer p.set(time.Time{})
	ctx, cancel := context.WithTimeoutCause(ctx, evaluationTimeout,
		fmt.Errorf("the evaluation did not end within %s, because the API server does not answer", evaluationTimeout))
	defer cancel()
	run(ctx)
}

func (p *progress) set(began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = began
}

// stuck returns a *StuckError if an evaluation does not end.
func (p *progress) stuck(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() || now.Sub(p.began) <= stuckTimeout {
		return nil
	}
	return &StuckError{p.began}
}
