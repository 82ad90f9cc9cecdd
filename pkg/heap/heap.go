// SPDX-License-Identifier: Apache-2.0

// Package heap delays garbage collection while the heap is small. Most runs of this program end before it is large.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// smallHeap is the live heap, in bytes, up to which time is more important than memory. From largeHeap on, memory
	// is more important: it is that of a run over many clusters.
	smallHeap = 24 << 20
	largeHeap = 384 << 20
	// firstGrowth makes the first garbage collection begin at 16 MiB instead of 4 MiB. The libraries of this program
	// allocate about 7 MiB when they are initialized, which would be two or three collections.
	firstGrowth = 400
	// smallHeapGrowth, heapGrowth and largeHeapGrowth are the growth of the heap between two garbage collections, in
	// percent of the live heap.
	smallHeapGrowth = 200
	heapGrowth      = 100
	largeHeapGrowth = 50
)

// Go initializes packages in the order of their import paths, as far as their own imports allow. This package imports
// only the standard library, so it is initialized before the packages that allocate most.
var _ = collectLater()

// collectLater reduces the number of garbage collections as long as the live heap is small. It does nothing, and
// returns false, if the user sets GOGC.
func collectLater() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(firstGrowth)
	runtime.SetFinalizer(&garbage{}, (*garbage).collected)
	return true
}

// compact is true after KeepSmall.
var compact atomic.Bool

// compactGrowth is the growth of the heap between two garbage collections of a process that runs for long.
const compactGrowth = 15

// KeepSmall makes the heap small instead: for a process that runs for long, memory is more important than time. It does
// nothing if the user sets GOGC.
func KeepSmall() {
	if os.Getenv("GOGC") == "" {
		compact.Store(true)
		debug.SetGCPercent(compactGrowth)
	}
}

// garbage is always unreachable, so that its finalizer runs after each garbage collection.
type garbage struct{ _ *byte }

func (g *garbage) collected() {
	if compact.Load() {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	switch bytes := live[0].Value.Uint64(); {
	case bytes > largeHeap:
		debug.SetGCPercent(largeHeapGrowth)
		return
	case bytes > smallHeap:
		debug.SetGCPercent(heapGrowth)
	default:
		debug.SetGCPercent(smallHeapGrowth)
	}
	runtime.SetFinalizer(g, (*garbage).collected)
}
