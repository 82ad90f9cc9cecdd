// SPDX-License-Identifier: Apache-2.0

// Package writes measures writes through an API server: without a webhook, with simple webhooks, and with ours. Each
// variant has its own namespace, to which its configurations are limited, so that nothing changes between two
// measurements.
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

// Variant is a webhook, or none, that the API server calls for a write.
type Variant string

// The variants. Again is the same as None: the difference between the two is the noise of the measurement.
const (
	None     Variant = "none"
	Again    Variant = "none-again"
	NoOp     Variant = "no-op"    // a webhook like ours with a handler that does nothing
	Constant Variant = "constant" // a webhook that responds to each request with the same patch as ours
	Ours     Variant = "ours"
)

// variants lists the variants.
func variants() []Variant { return []Variant{None, Again, NoOp, Constant, Ours} }

// Traffic is a kind of written objects.
type Traffic string

// The kinds of traffic. For Plain and Fleets, the conditions of the configurations exclude every request.
const (
	// desired objects with Helm's ownership metadata only; ours adds the rest at every write
	Adopted Traffic = "adopted"
	Plain   Traffic = "plain" // objects without ownership metadata
	Fleets  Traffic = "fleet" // objects with complete ownership metadata, written by Fleet's agent
)

// Variants lists the variants that are measured with it.
func (t Traffic) Variants() []Variant {
	if t == Adopted {
		return variants()
	}
	return []Variant{None, Again, NoOp, Ours} // a webhook that is not called returns no patch
}

// Traffics lists the kinds of traffic.
func Traffics() []Traffic { return []Traffic{Adopted, Plain, Fleets} }

// Operation is the kind of a write.
type Operation string

// The operations. An update changes the data and writes the same ownership metadata as the creation.
const (
	Create Operation = "create"
	Update Operation = "update"
)

// Operations lists the operations in their order.
func Operations() []Operation { return []Operation{Create, Update} }

// Options are the sizes of a measurement.
type Options struct {
	// Objects is the number of written objects in each measurement, Rounds the number of counted rounds, and Known the
	// number of objects of other releases in our webhook's index.
	Objects, Rounds, Known int
	// Clients are the numbers of parallel requests; each number is measured separately.
	Clients  []int
	Progress func(format string, args ...any)
}

// Case identifies figures.
type Case struct {
	Traffic   Traffic   `json:"traffic"`
	Clients   int       `json:"clients"`
	Operation Operation `json:"operation"`
}

// Run is the measurement of a case with one variant in one round. The percentiles are of the time from a request
// to the end of its response.
type Run struct {
	Case
	Variant   Variant       `json:"variant"`
	P50       time.Duration `json:"p50Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	PerSecond float64       `json:"perSecond"`
}

// Result is the whole measurement.
type Result struct {
	Objects     int     `json:"objects"` // of each run
	ObjectBytes int     `json:"objectBytes"`
	Known       int     `json:"known"` // objects in our webhook's index
	Clients     []int   `json:"clients"`
	Rounds      [][]Run `json:"rounds"`
}

// Of returns the runs of a case with a variant, in the order of the rounds.
func (r Result) Of(c Case, variant Variant) []Run {
	var out []Run
	for _, round := range r.Rounds {
		for _, run := range round {
			if run.Case == c && run.Variant == variant {
				out = append(out, run)
			}
		}
	}
	return out
}

// Ratios divides a figure of one variant by that of another, one ratio for each round, in ascending order. A
// disturbance that is longer than a round affects both.
func (r Result) Ratios(c Case, variant, to Variant, figure func(Run) float64) []float64 {
	dividends, divisors := r.Of(c, variant), r.Of(c, to)
	out := make([]float64, len(dividends))
	for i := range dividends {
		out[i] = figure(dividends[i]) / figure(divisors[i])
	}
	slices.Sort(out)
	return out
}

// Measure serves the webhooks in this process, registers them, and measures the rounds. A cluster can be measured
// once. It returns an error if a webhook is not called, or called when it should not be, or if an object has
// unexpected ownership metadata: a fast result that is wrong does not count.
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
	o.Progress("warmed up")
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

// warmObjects is enough to use every connection, cache and condition once.
const warmObjects = 100

// round measures everything once.
func (m measurer) round(ctx context.Context, number int) ([]Run, error) {
	var out []Run
	for _, clients := range m.Clients {
		for _, t := range Traffics() {
			for _, variant := range order(t.Variants(), number) {
				runs, err := m.measureVariant(ctx, t, variant, clients)
				if err != nil {
					return nil, fmt.Errorf("writing %s objects, %s, %d at once: %w", t, variant, clients, err)
				}
				out = append(out, runs...)
			}
		}
	}
	return out, nil
}

// order is the order of variants in a round: each variant is the first one in some rounds, and every order is also
// used backwards.
func order(variants []Variant, round int) []Variant {
	first := round / 2 % len(variants)
	variants = slices.Concat(variants[first:], variants[:first])
	if round%2 == 1 {
		slices.Reverse(variants)
	}
	return variants
}

// percentile returns the figure that the fraction p of all figures, at least one, does not exceed.
func percentile(ascending []time.Duration, p float64) time.Duration {
	return ascending[int(math.Ceil(p*float64(len(ascending))))-1]
}
