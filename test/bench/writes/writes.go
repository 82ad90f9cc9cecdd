// SPDX-License-Identifier: Apache-2.0

// Package writes measures writes through an API server: with no webhook, with some that know nothing, and with ours. Each has a namespace of
// its own, to which its configurations are narrowed, so that nothing is switched between two measures, and all of them are taken in turns.
package writes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// Arm is what stands in the way of a write.
type Arm string

// The arms. Again is None once more: how far the two lie apart is what cannot be measured.
const (
	None     Arm = "none"
	Again    Arm = "none-again"
	NoOp     Arm = "no-op"    // a webhook as ours is, but for its handler
	Constant Arm = "constant" // one that looks at nothing, and answers each request with the patch that ours would
	Ours     Arm = "ours"
)

// arms lists the arms.
func arms() []Arm { return []Arm{None, Again, NoOp, Constant, Ours} }

// Traffic is what is written.
type Traffic string

// The traffic. Of Plain and Fleets the configurations' conditions keep every request from both webhooks.
const (
	Adopted Traffic = "adopted" // objects with Helm's marks alone, that a release desires; ours stamps each, at every write
	Plain   Traffic = "plain"   // objects without a mark
	Fleets  Traffic = "fleet"   // objects with all marks, written by Fleet's agent
)

// Arms lists the arms that it is measured with.
func (t Traffic) Arms() []Arm {
	if t == Adopted {
		return arms()
	}
	return []Arm{None, Again, NoOp, Ours} // a webhook that is not called answers nothing
}

// Traffics lists the traffic.
func Traffics() []Traffic { return []Traffic{Adopted, Plain, Fleets} }

// Operation is the kind of a write.
type Operation string

// The operations. An update changes the data, and writes the marks that the creation wrote, and no others.
const (
	Create Operation = "create"
	Update Operation = "update"
)

// Operations lists the operations, in their order.
func Operations() []Operation { return []Operation{Create, Update} }

// Options say how much is measured.
type Options struct {
	// Objects are written in each turn of an arm, Rounds are counted, and Known objects of other releases are in our webhook's memory.
	Objects, Rounds, Known int
	// Clients are the numbers of requests at once, each measured by itself.
	Clients  []int
	Progress func(format string, args ...any)
}

// Case is what figures are of.
type Case struct {
	Traffic   Traffic   `json:"traffic"`
	Clients   int       `json:"clients"`
	Operation Operation `json:"operation"`
}

// Run is what a case took with one arm in one round. The percentiles are of the time from a request to the end of its answer.
type Run struct {
	Case
	Arm       Arm           `json:"arm"`
	P50       time.Duration `json:"p50Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	PerSecond float64       `json:"perSecond"`
}

// Result is all that was measured.
type Result struct {
	Objects     int     `json:"objects"` // of each run
	ObjectBytes int     `json:"objectBytes"`
	Known       int     `json:"known"` // objects that our webhook knew of
	Clients     []int   `json:"clients"`
	Rounds      [][]Run `json:"rounds"`
}

// Of returns the runs of a case with an arm, in the order of the rounds.
func (r Result) Of(c Case, arm Arm) []Run {
	var out []Run
	for _, round := range r.Rounds {
		for _, run := range round {
			if run.Case == c && run.Arm == arm {
				out = append(out, run)
			}
		}
	}
	return out
}

// Ratios holds one arm against another, in a figure of each run: one ratio a round, ascending. What disturbs the machine for longer than a round
// disturbs both.
func (r Result) Ratios(c Case, arm, to Arm, figure func(Run) float64) []float64 {
	mine, theirs := r.Of(c, arm), r.Of(c, to)
	out := make([]float64, len(mine))
	for i := range mine {
		out[i] = figure(mine[i]) / figure(theirs[i])
	}
	slices.Sort(out)
	return out
}

// Measure serves the webhooks from this process, registers them, and takes the rounds. A cluster can be measured once. Its error is also that of
// a webhook that was not called, or was where it should not be, and of an object that is not marked as it has to be: a fast wrong answer is none.
func Measure(ctx context.Context, c *cluster.Cluster, o Options) (result Result, err error) {
	m, err := newMeasurer(c, o)
	if err != nil {
		return result, err
	}
	serving, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(serving)
	for _, h := range m.hooks {
		group.Go(func() error { return h.server.Start(ctx) })
	}
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()
	if err := m.prepare(ctx); err != nil {
		return result, err
	}
	result = Result{Objects: o.Objects, ObjectBytes: objectBytes, Known: m.known, Clients: o.Clients}
	warm := m
	warm.Objects = min(o.Objects, warmObjects)
	if _, err := warm.round(ctx, 0); err != nil {
		return result, fmt.Errorf("warming up: %w", err)
	}
	o.Progress("warm")
	for i := range o.Rounds {
		start := time.Now()
		runs, err := m.round(ctx, i)
		if err != nil {
			return result, fmt.Errorf("round %d: %w", i+1, err)
		}
		result.Rounds = append(result.Rounds, runs)
		o.Progress("round %d of %d took %.0f s", i+1, o.Rounds, time.Since(start).Seconds())
	}
	return result, nil
}

// warmObjects are as many as every connection, cache and condition needs to have been used.
const warmObjects = 100

// round takes one turn of everything.
func (m measurer) round(ctx context.Context, number int) ([]Run, error) {
	var out []Run
	for _, clients := range m.Clients {
		for _, t := range Traffics() {
			for _, arm := range turns(t.Arms(), number) {
				runs, err := m.turn(ctx, t, arm, clients)
				if err != nil {
					return nil, fmt.Errorf("writing %s objects, %s, %d at once: %w", t, arm, clients, err)
				}
				out = append(out, runs...)
			}
		}
	}
	return out, nil
}

// turns is the order of arms in a round: each is the first one in its turn, and every order is also taken backwards.
func turns(arms []Arm, round int) []Arm {
	first := round / 2 % len(arms)
	arms = slices.Concat(arms[first:], arms[:first])
	if round%2 == 1 {
		slices.Reverse(arms)
	}
	return arms
}

// percentile returns the figure that p of all ascending ones, at least one, do not exceed.
func percentile(ascending []time.Duration, p float64) time.Duration {
	return ascending[int(math.Ceil(p*float64(len(ascending))))-1]
}
