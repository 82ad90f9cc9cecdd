// SPDX-License-Identifier: Apache-2.0

package input

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectLater expects that a large live heap restores the usual garbage collection. A defect ends in the time limit of go test, because
// finalizers run at any time.
func TestCollectLater(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(heapGrowth))
	collectLater()
	if got := growth(); got != smallHeapGrowth {
		t.Fatalf("the heap grows by %d %%, want %d %%", got, smallHeapGrowth)
	}
	live := make([]byte, 2*smallHeap)
	for growth() != heapGrowth {
		runtime.GC()
	}
	runtime.KeepAlive(live)
}

func growth() uint64 {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return percent[0].Value.Uint64()
}
