// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/bench/writes"
)

// measureWrites measures what the webhook adds to writes.
func (b *bench) measureWrites(ctx context.Context) (writes.Result, error) {
	r, err := writes.Measure(ctx, b.cluster, writes.Options{Objects: b.options.sizes[0], Rounds: b.options.rounds,
		Known:   b.options.known,
		Clients: []int{1, 8}, Progress: b.progress})
	if err != nil {
		return r, fmt.Errorf("measuring writes: %w", err)
	}
	return r, nil
}

// metric is a figure of a run and its format.
type metric struct {
	name  string
	of    func(writes.Run) float64
	print func(float64) string
}

var (
	p50       = metric{"p50", func(r writes.Run) float64 { return float64(r.P50) }, milliseconds}
	p99       = metric{"p99", func(r writes.Run) float64 { return float64(r.P99) }, milliseconds}
	perSecond = metric{"per second", func(r writes.Run) float64 { return r.PerSecond }, func(f float64) string {
		return fmt.Sprintf("%.0f", f)
	}}
)

func milliseconds(nanoseconds float64) string { return fmt.Sprintf("%.2f ms", nanoseconds/1e6) }

// mostOverNoOp bounds what our handler may add to the slowest requests.
const mostOverNoOp = 1.1

// writesTargets compares the writes with their bounds: the slowest of the requests that reach the webhook, because
// a timeout applies to them, and the median of the requests that do not.
func writesTargets(r writes.Result) []target {
	var out []target
	for _, t := range writes.Traffics() {
		for _, clients := range r.Clients {
			for _, op := range writes.Operations() {
				c := writes.Case{Traffic: t, Clients: clients, Operation: op}
				metric, to, bound := p99, writes.NoOp, mostOverNoOp
				if t != writes.Adopted {
					metric, to, bound = p50, writes.None, farthest(r.Ratios(c, writes.Again, writes.None, p50.of))
				}
				figure := median(r.Ratios(c, writes.Ours, to, metric.of))
				out = append(out, target{Name: fmt.Sprintf("%s / %s, %s: %s, %s, %d at once", writes.Ours, to,
					metric.name, t, op, clients),
					Objects: r.Objects, Figure: figure, Bound: bound, Met: figure <= bound})
			}
		}
	}
	return out
}

// farthest is the random deviation of a median ratio from 1, taken from two measurements of the same.
func farthest(ascending []float64) float64 {
	low, high := interval(ascending)
	return max(high, 1/low)
}

// interval returns two of ascending figures that enclose the median of all possible measurements with a
// probability of at least 95 %: of nine figures the second and the second to last. Of fewer than six it returns
// the lowest and the highest, with a lower probability.
func interval(ascending []float64) (low, high float64) {
	n := len(ascending)
	// A figure is below or above that median with equal probability; outside is the probability that at most k of n
	// figures are below.
	skip, outside := 0, math.Pow(0.5, float64(n))
	for k, probability := 1, outside; k < n/2; k++ {
		probability *= float64(n-k+1) / float64(k)
		if outside += probability; 2*outside > 0.05 {
			break
		}
		skip = k
	}
	return ascending[skip], ascending[n-1-skip]
}

// writes prints a block for each kind of traffic and number of clients.
func (p *printer) writes(r writes.Result) {
	p.line("")
	p.line("%d objects of %s each in a run, %d rounds, %d objects in the webhook's index", r.Objects,
		kib(int64(r.ObjectBytes)), len(r.Rounds), r.Known)
	p.line("A ratio is the median of the ratios of all rounds. The interval contains that median with a probability " +
		"of 95 %% (with at least six rounds).")
	p.line("Webhook %q responds to each request with the same patch as ours, and reads nothing.", writes.Constant)
	p.line("%s / %s is noise: it is the bound for requests that do not reach the webhook.", writes.Again, writes.None)
	variants := map[writes.Variant]string{
		writes.None:     "no webhook",
		writes.Again:    "no webhook, again",
		writes.NoOp:     "no-op webhook",
		writes.Constant: "constant patch",
		writes.Ours:     "ours",
	}
	titles := map[writes.Traffic]string{
		writes.Adopted: "Helm's metadata only, as after takeOwnership: the webhook is called",
		writes.Plain:   "no ownership metadata: not called",
		writes.Fleets:  "complete ownership metadata, by Fleet's agent: not called",
	}
	for _, t := range writes.Traffics() {
		for _, clients := range r.Clients {
			p.line("")
			p.line("%s; %d at once", titles[t], clients)
			p.row("\tcreate p50\tp99\tper second\tupdate p50\tp99\tper second")
			for _, variant := range t.Variants() {
				p.cells(variants[variant], func(op writes.Operation, m metric) string {
					return m.print(median(ascending(r.Of(writes.Case{Traffic: t, Clients: clients, Operation: op},
						variant), m.of)))
				})
			}
			for _, over := range [][2]writes.Variant{{writes.Again, writes.None}, {writes.NoOp, writes.None},
				{writes.Ours, writes.None},
				{writes.Ours, writes.NoOp}, {writes.Ours, writes.Constant}} {
				if !slices.Contains(t.Variants(), over[1]) {
					continue
				}
				p.cells(fmt.Sprintf("%s / %s", over[0], over[1]), func(op writes.Operation, m metric) string {
					ratios := r.Ratios(writes.Case{Traffic: t, Clients: clients, Operation: op}, over[0], over[1], m.of)
					low, high := interval(ratios)
					return fmt.Sprintf("%.2f (%.2f to %.2f)", median(ratios), low, high)
				})
			}
			p.flush()
		}
	}
}

// cells prints a row with all metrics of both operations.
func (p *printer) cells(name string, cell func(writes.Operation, metric) string) {
	row := name
	for _, op := range writes.Operations() {
		for _, m := range []metric{p50, p99, perSecond} {
			row += "\t" + cell(op, m)
		}
	}
	p.row("%s", row)
}
