// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// changeRound is one round of a verb that writes: the bare requests, the verb and its undo. Each writes every object.
type changeRound struct {
	Bare  time.Duration `json:"bareNanoseconds"`
	Apply time.Duration `json:"bareApplyNanoseconds,omitempty"` // the same with server-side apply; 0 for an adoption
	Verb  usage         `json:"verb"`
	Undo  usage         `json:"undo"`
}

// changeResult is the measurement of a verb that writes, at one size.
type changeResult struct {
	Objects  int           `json:"objects"`
	Releases int           `json:"releases"`
	Rounds   []changeRound `json:"rounds"`
}

// measureChanges measures the rounds of a verb. bare measures the bare requests of a round, and undoes them.
func (b *bench) measureChanges(ctx context.Context, l *loader, verb string,
	bare func(context.Context) (changeRound, error)) (changeResult, error) {
	res := changeResult{Objects: l.objects, Releases: l.releases}
	if err := b.cluster.WriteKubeconfig(b.kubeconfig()); err != nil {
		return res, err
	}
	// The server delays the first list of a new kind by a second; this must not be measured.
	if _, _, err := execute(ctx, b.product, verb, "--dry-run=client", "-o", "json", "--kubeconfig",
		b.kubeconfig()); err != nil {
		return res, err
	}
	for i := range b.options.rounds {
		r, err := bare(ctx)
		if err != nil {
			return res, err
		}
		receipt := filepath.Join(b.dir, fmt.Sprintf("receipt-%d.jsonl", i))
		if r.Verb, err = b.change(ctx, l.objects, verb, "--receipt", receipt); err != nil {
			return res, err
		}
		if r.Undo, err = b.change(ctx, l.objects, verb, "--undo", receipt); err != nil {
			return res, err
		}
		if err := os.Remove(receipt); err != nil {
			return res, err
		}
		res.Rounds = append(res.Rounds, r)
		b.progress("round %d of %d: bare %s, %s %s, undo %s", i+1, b.options.rounds, seconds(r.Bare), verb,
			seconds(r.Verb.Wall), seconds(r.Undo.Wall))
	}
	return res, nil
}

// change runs the product once, as a user would, and checks that it wrote every object.
func (b *bench) change(ctx context.Context, objects int, verb string, args ...string) (usage, error) {
	u, out, err := execute(ctx, b.product, append([]string{verb, "--yes", "-o", "json", "--kubeconfig",
		b.kubeconfig()}, args...)...)
	if err != nil {
		return u, err
	}
	var got struct {
		Summary report.RepairSummary `json:"summary"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return u, fmt.Errorf("reading what %s printed: %w", verb, err)
	}
	if s := got.Summary; s.Done != objects || s.Objects != objects {
		return u, fmt.Errorf("running %s: %d of %d objects were written, want %d", verb, s.Done, s.Objects, objects)
	}
	return u, nil
}

// atOnce sends a bare request for each object, as many at a time as the product does, and returns the elapsed time.
func atOnce[T any](ctx context.Context, objects []T, send func(context.Context, T) error) (time.Duration, error) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(repair.Concurrency)
	for _, o := range objects {
		group.Go(func() error { return send(ctx, o) })
	}
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("sending the bare requests: %w", err)
	}
	return time.Since(start), nil
}

// perBare are the ratios of the objects per second of a step to those of the bare requests, one for each round, in
// ascending order; overBare are those of the time of the verb to that of bare requests.
func (r changeResult) perBare(step func(changeRound) usage) []float64 {
	return ascending(r.Rounds, func(r changeRound) float64 { return float64(r.Bare) / float64(step(r).Wall) })
}

func (r changeResult) overBare(bare func(changeRound) time.Duration) []float64 {
	return ascending(r.Rounds, func(r changeRound) float64 { return float64(r.Verb.Wall) / float64(bare(r)) })
}

func (r changeResult) of(pick func(changeRound) usage) []usage {
	out := make([]usage, len(r.Rounds))
	for i := range r.Rounds {
		out[i] = pick(r.Rounds[i])
	}
	return out
}

func bareOf(r changeRound) time.Duration { return r.Bare }

func applyOf(r changeRound) time.Duration { return r.Apply }

func verbOf(r changeRound) usage { return r.Verb }

func undoOf(r changeRound) usage { return r.Undo }
