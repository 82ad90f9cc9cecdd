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

// progress is the evaluation that runs. Its methods are safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	began time.Time // zero while none runs
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
