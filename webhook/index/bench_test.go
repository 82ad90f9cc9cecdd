// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
)

const (
	// syncOf is an environment variable with a server. If it is set, this program measures a cold sync from the server,
	// and prints a measure.
	syncOf = "FLEETDOCTOR_TEST_COLD_SYNC_OF"
	// The number of releases, the objects of each, and the bytes of a record in the encoding of its Secret.
	benchRecords, benchObjects, benchRecordSize = 1000, 100, 500 << 10
)

// measure is the cost of one cold sync. Sizes are in bytes. Those of resident memory are zero on systems other than
// Linux.
type measure struct {
	Took, CPU              time.Duration
	Objects                int
	Before, Peak, After    uint64 // resident memory: at the start, the maximum, and at the end
	Heap, HeapPeak, Allocd uint64 // of the heap: live at the end, the maximum, and the sum of all allocations
}

// BenchmarkColdSync fills an empty index with 100,000 objects from 1,000 records of 500 KiB in ten namespaces, each
// time in a new process. The server is in this process.
func BenchmarkColdSync(b *testing.B) {
	for _, mode := range []struct {
		name  string
		paged bool
	}{{"streamed", false}, {"paged", true}} {
		b.Run(mode.name, func(b *testing.B) {
			server := serveRecords(b, benchRecords, benchObjects, benchRecordSize, mode.paged)
			var m measure
			for b.Loop() {
				m = measured(b, server)
				if m.Objects != benchRecords*benchObjects {
					b.Fatalf("%d objects in the index, want %d", m.Objects, benchRecords*benchObjects)
				}
			}
			const mebibyte = 1 << 20
			b.ReportMetric(m.Took.Seconds(), "s/sync")
			b.ReportMetric(m.CPU.Seconds(), "cpu-s/sync")
			b.ReportMetric(float64(m.Heap)/mebibyte, "MiB-heap")
			b.ReportMetric(float64(m.HeapPeak)/mebibyte, "MiB-heap-peak")
			b.ReportMetric(float64(m.Allocd)/mebibyte, "MiB-allocated")
			b.ReportMetric(float64(m.Before)/mebibyte, "MiB-rss-before")
			b.ReportMetric(float64(m.Peak)/mebibyte, "MiB-rss-peak")
			b.ReportMetric(float64(m.After)/mebibyte, "MiB-rss-after")
		})
	}
}

// measured runs a cold sync in a new process.
func measured(b *testing.B, server string) measure {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env = append(os.Environ(), syncOf+"="+server)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("measuring: %v\n%s", err, &stderr)
	}
	var m measure
	if err := json.Unmarshal(out, &m); err != nil {
		b.Fatalf("measuring: %v\n%s", err, out)
	}
	m.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return m
}

// coldSync fills an index from a server, and writes the measure.
func coldSync(server string, to io.Writer) error {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server, QPS: -1})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	into := index.New()
	w := index.NewReleases(client.CoreV1(), nil, into, logr.Discard())
	m := measure{Before: resident("VmRSS")}
	start, ended := time.Now(), make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var stats runtime.MemStats
	for !w.Synced() {
		select {
		case <-tick.C:
			runtime.ReadMemStats(&stats)
			m.HeapPeak = max(m.HeapPeak, stats.HeapInuse)
		case <-ctx.Done():
			return errors.New("not synced in time")
		}
	}
	m.Took, m.Peak = time.Since(start), resident("VmHWM")
	debug.FreeOSMemory()
	runtime.ReadMemStats(&stats)
	m.Heap, m.Allocd, m.After = stats.HeapAlloc, stats.TotalAlloc, resident("VmRSS")
	m.Objects, _, _ = into.Size()
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	return json.NewEncoder(to).Encode(m)
}

// resident reads a size from /proc/self/status, in bytes; zero on systems other than Linux.
func resident(name string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kibibytes uint64
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			if _, err := fmt.Sscan(rest, &kibibytes); err == nil {
				return kibibytes << 10
			}
		}
	}
	return 0
}
