// SPDX-License-Identifier: Apache-2.0

package input

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// smallHeap is the live heap, in bytes, up to which time is more important than memory.
	smallHeap = 24 << 20
	// smallHeapGrowth and heapGrowth are the growth of the heap between two garbage collections, in percent of the live heap.
	smallHeapGrowth = 200
	heapGrowth      = 100
)

// collectLater halves the number of garbage collections as long as the live heap is small. Most audits end before it is large. It does nothing if the
// user sets GOGC.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(smallHeapGrowth)
		runtime.SetFinalizer(&garbage{}, (*garbage).collected)
	}
}

// garbage is always unreachable, so that its finalizer runs after each garbage collection.
type garbage struct{ _ *byte }

func (g *garbage) collected() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Uint64() > smallHeap {
		debug.SetGCPercent(heapGrowth)
		return
	}
	runtime.SetFinalizer(g, (*garbage).collected)
}
