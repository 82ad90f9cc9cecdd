// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/bench/writes"
)

// measureWrites measures what the webhook costs those who write.
func (b *bench) measureWrites(ctx context.Context) (writes.Result, error) {
	r, err := writes.Measure(ctx, b.cluster, writes.Options{Objects: b.options.sizes[0], Rounds: b.options.rounds, Known: b.options.known,
		Clients: []int{1, 8}, Progress: b.progress})
	if err != nil {
		return r, fmt.Errorf("measuring writes: %w", err)
	}
	return r, nil
}

// measure is a figure of a run, and how people read it.
type measure struct {
	name  string
	of    func(writes.Run) float64
	print func(float64) string
}

var (
	p50       = measure{"p50", func(r writes.Run) float64 { return float64(r.P50) }, milliseconds}
	p99       = measure{"p99", func(r writes.Run) float64 { return float64(r.P99) }, milliseconds}
	perSecond = measure{"per second", func(r writes.Run) float64 { return r.PerSecond }, func(f float64) string { return fmt.Sprintf("%.0f", f) }}
)

func milliseconds(nanoseconds float64) string { return fmt.Sprintf("%.2f ms", nanoseconds/1e6) }

// mostOverNoOp bounds what our handler may add to the slowest requests.
const mostOverNoOp = 1.1

// writesTargets holds the writes against their bounds: of those that reach the webhook the slowest, which are what a timeout is for; of those
// that do not, the median, in which the least is seen.
func writesTargets(r writes.Result) []target {
	var out []target
	for _, t := range writes.Traffics() {
		for _, clients := range r.Clients {
			for _, op := range writes.Operations() {
				c := writes.Case{Traffic: t, Clients: clients, Operation: op}
				measure, to, bound := p99, writes.NoOp, mostOverNoOp
				if t != writes.Adopted {
					measure, to, bound = p50, writes.None, farthest(r.Ratios(c, writes.Again, writes.None, p50.of))
				}
				figure := median(r.Ratios(c, writes.Ours, to, measure.of))
				out = append(out, target{Name: fmt.Sprintf("%s / %s, %s: %s, %s, %d at once", writes.Ours, to, measure.name, t, op, clients),
					Objects: r.Objects, Figure: figure, Bound: bound, Met: figure <= bound})
			}
		}
	}
	return out
}

// farthest is how far above 1 the median of ratios may lie by chance. It is taken from those of two measures of the same.
func farthest(ascending []float64) float64 {
	low, high := interval(ascending)
	return max(high, 1/low)
}

// interval returns two of ascending figures, between which the median of all that could have been taken lies with a certainty of 95 % or more:
// of nine the second and the second to last. Of fewer than six it is the lowest and the highest, and the certainty is less.
func interval(ascending []float64) (low, high float64) {
	n := len(ascending)
	// A figure lies below that median or above it, as a coin falls; outside is the chance that no more than k of n do.
	skip, outside := 0, math.Pow(0.5, float64(n))
	for k, chance := 1, outside; k < n/2; k++ {
		chance *= float64(n-k+1) / float64(k)
		if outside += chance; 2*outside > 0.05 {
			break
		}
		skip = k
	}
	return ascending[skip], ascending[n-1-skip]
}

// writes prints a block for each kind of traffic and number of clients.
func (p *printer) writes(r writes.Result) {
	p.line("")
	p.line("%d objects of %s each in a run, %d rounds, %d objects known to the webhook", r.Objects, kib(int64(r.ObjectBytes)), len(r.Rounds), r.Known)
	p.line("A ratio is the median of the ratios of each round; beside it the bounds of where that median lies with 95 %% certainty (from six rounds on).")
	p.line("Webhook %q answers each request with the patch that ours would, and looks at nothing.", writes.Constant)
	p.line("%s / %s is noise: what is kept away from the webhook is held against its bounds.", writes.Again, writes.None)
	arms := map[writes.Arm]string{writes.None: "no webhook", writes.Again: "no webhook, again", writes.NoOp: "no-op webhook",
		writes.Constant: "constant patch", writes.Ours: "ours"}
	words := map[writes.Traffic]string{writes.Adopted: "Helm's marks alone, as after takeOwnership: the webhook is called", writes.Plain: "no marks: kept away",
		writes.Fleets: "all marks, by Fleet's agent: kept away"}
	for _, t := range writes.Traffics() {
		for _, clients := range r.Clients {
			p.line("")
			p.line("%s; %d at once", words[t], clients)
			p.row("\tcreate p50\tp99\tper second\tupdate p50\tp99\tper second")
			for _, arm := range t.Arms() {
				p.cells(arms[arm], func(op writes.Operation, m measure) string {
					return m.print(median(ascending(r.Of(writes.Case{Traffic: t, Clients: clients, Operation: op}, arm), m.of)))
				})
			}
			for _, over := range [][2]writes.Arm{{writes.Again, writes.None}, {writes.NoOp, writes.None}, {writes.Ours, writes.None},
				{writes.Ours, writes.NoOp}, {writes.Ours, writes.Constant}} {
				if !slices.Contains(t.Arms(), over[1]) {
					continue
				}
				p.cells(fmt.Sprintf("%s / %s", over[0], over[1]), func(op writes.Operation, m measure) string {
					ratios := r.Ratios(writes.Case{Traffic: t, Clients: clients, Operation: op}, over[0], over[1], m.of)
					low, high := interval(ratios)
					return fmt.Sprintf("%.2f (%.2f to %.2f)", median(ratios), low, high)
				})
			}
			p.flush()
		}
	}
}

// cells prints a row of all measures of both operations.
func (p *printer) cells(name string, cell func(writes.Operation, measure) string) {
	row := name
	for _, op := range writes.Operations() {
		for _, m := range []measure{p50, p99, perSecond} {
			row += "\t" + cell(op, m)
		}
	}
	p.row("%s", row)
}
