// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// smallAuditorSize is the number of objects of a small cluster.
const smallAuditorSize = 500

// target is a figure and its bound.
type target struct {
	Name    string  `json:"name"`
	Objects int     `json:"objects"`
	Figure  float64 `json:"figure"`
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"atLeast,omitempty"` // otherwise at most
	Unit    string  `json:"unit,omitempty"`
	Met     bool    `json:"met"`
}

// Bounds of the figures.
const (
	mostOverFloor  = 2.0
	leastDiffOver  = 30.0
	mostGrowth     = 1.1 // times the growth in objects
	mebibyte       = 1 << 20
	smallSize      = 5_000
	smallPeak      = 150 // MiB, up to smallSize objects
	largeSize      = 50_000
	largePeak      = 400 // MiB, up to largeSize objects
	managementPeak = 300 // MiB, on a management cluster
	excessRequests = 0
	leastOverBare  = 0.8 // in objects per second
	mostOverCreate = 1.3 // in time
	mostOverAudit  = 6.0 // of a snapshot
	snapshotPeak   = 600 // MiB, up to largeSize objects
	mostOfStart    = 2.0 // times the time of an audit, until an auditor is ready
	auditorStart   = 300 // MiB
	auditorSteady  = 150 // MiB, up to largeSize objects
	smallAuditor   = 40  // MiB, up to smallAuditorSize objects
	idleCore       = 0.02
	typicalLatency = 1.0 // s, the median
	worstLatency   = 3.0 // s
	mostOverOne    = 8.0 // times the memory of an audit of one cluster
	mostOverEach   = 1.0 // times the time of an audit of each cluster, one after the other
)

// targetsOf compares the results with their bounds, in the order of the results.
func targetsOf(results []result) []target {
	var out []target
	for i, r := range results {
		add := func(t target) {
			t.Objects = r.Objects
			t.Met = t.Figure <= t.Bound
			if t.AtLeast {
				t.Met = t.Figure >= t.Bound
			}
			out = append(out, t)
		}
		add(target{Name: "audit / floor", Figure: median(r.overFloor()), Bound: mostOverFloor})
		if ratios := r.diffOver(); len(ratios) > 0 {
			add(target{Name: "kubectl diff / audit", Figure: median(ratios), Bound: leastDiffOver, AtLeast: true})
		}
		peak := target{Name: "peak resident memory", Figure: float64(highest(ascending(r.audits(), peakOf))) / mebibyte,
			Unit: "MiB"}
		switch {
		case r.Deployments > 0:
			peak.Bound = managementPeak
		case r.Objects <= smallSize:
			peak.Bound = smallPeak
		case r.Objects <= largeSize:
			peak.Bound = largePeak
		}
		if peak.Bound > 0 {
			add(peak)
		}
		add(target{Name: "requests in excess", Figure: float64(len(r.Excess)), Bound: excessRequests})
		if i > 0 {
			before := results[i-1]
			add(target{Name: fmt.Sprintf("time / time at %d", before.Objects),
				Figure: float64(median(ascending(r.audits(), wallOf))) / float64(median(ascending(before.audits(),
					wallOf))),
				Bound: mostGrowth * float64(r.Objects) / float64(before.Objects)})
		}
	}
	return out
}

// adoptTargets compares adoptions with their bounds.
func adoptTargets(results []changeResult) []target {
	var out []target
	for _, r := range results {
		for _, t := range []target{
			{Name: "adopt / bare patches, per second", Figure: median(r.perBare(verbOf))},
			{Name: "undo / bare patches, per second", Figure: median(r.perBare(undoOf))},
		} {
			t.Objects, t.Bound, t.AtLeast = r.Objects, leastOverBare, true
			t.Met = t.Figure >= t.Bound
			out = append(out, t)
		}
	}
	return out
}

// repairTargets compares repairs with their bounds.
func repairTargets(results []changeResult) []target {
	var out []target
	for _, r := range results {
		for _, t := range []target{
			{Name: "repair / bare create (POST)", Figure: median(r.overBare(bareOf))},
			{Name: "repair / bare apply", Figure: median(r.overBare(applyOf))},
		} {
			t.Objects, t.Bound = r.Objects, mostOverCreate
			t.Met = t.Figure <= t.Bound
			out = append(out, t)
		}
	}
	return out
}

// snapshotTargets compares snapshots with their bounds.
func snapshotTargets(results []snapshotResult) []target {
	var out []target
	for _, r := range results {
		for _, t := range []target{
			{Name: "snapshot / audit", Figure: median(r.overAudit()), Bound: mostOverAudit},
			{Name: "peak resident memory, snapshot", Figure: float64(highest(ascending(r.of(snapshotOf),
				peakOf))) / mebibyte, Bound: snapshotPeak, Unit: "MiB"},
			{Name: "peak resident memory, audit of it", Figure: float64(highest(ascending(r.of(offlineOf),
				peakOf))) / mebibyte, Bound: snapshotPeak, Unit: "MiB"},
		} {
			t.Objects, t.Met = r.Objects, t.Figure <= t.Bound
			out = append(out, t)
		}
	}
	return out
}

func auditorTargets(results []auditorResult) []target {
	var out []target
	for _, r := range results {
		steady := target{Name: "memory, steady", Figure: float64(r.SteadyOwn) / mebibyte,
			Bound: auditorSteady, Unit: "MiB"}
		if r.Objects <= smallAuditorSize {
			steady.Bound = smallAuditor
		}
		for _, t := range []target{steady,
			{Name: "start / audit", Figure: median(r.Starts).Seconds() / median(ascending(r.Audits, wallOf)).Seconds(),
				Bound: mostOfStart},
			{Name: "peak resident memory, start", Figure: float64(r.StartPeak) / mebibyte,
				Bound: auditorStart, Unit: "MiB"},
			{Name: "idle, of a core", Figure: r.Idle.Seconds() / r.IdleFor.Seconds(), Bound: idleCore},
			{Name: "deletion to metric, median", Figure: median(r.Latencies).Seconds(),
				Bound: typicalLatency, Unit: "s"},
			{Name: "deletion to metric, highest", Figure: highest(r.Latencies).Seconds(),
				Bound: worstLatency, Unit: "s"},
		} {
			t.Objects, t.Met = r.Objects, t.Figure <= t.Bound
			out = append(out, t)
		}
	}
	return out
}
