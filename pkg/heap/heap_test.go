// SPDX-License-Identifier: Apache-2.0

package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectLater expects that the growth of the heap follows from the live heap. A defect ends in the time limit of
// go test, because finalizers run at any time.
func TestCollectLater(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(heapGrowth))
	collectLater()
	for growth() != smallHeapGrowth {
		runtime.GC()
	}
	for _, of := range []struct{ live, growth int }{{2 * smallHeap, heapGrowth},
		{largeHeap + smallHeap, largeHeapGrowth}} {
		live := make([]byte, of.live)
		for growth() != uint64(of.growth) {
			runtime.GC()
		}
		runtime.KeepAlive(live)
	}
}

// TestGivenGOGC expects that the value of the user is kept.
func TestGivenGOGC(t *testing.T) {
	t.Setenv("GOGC", "150")
	defer debug.SetGCPercent(debug.SetGCPercent(150))
	if collectLater() || growth() == firstGrowth {
		t.Error("the growth of the heap was set, although GOGC is set")
	}
}

func growth() uint64 {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return percent[0].Value.Uint64()
}
