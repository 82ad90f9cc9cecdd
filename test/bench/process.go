// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usage is the time and the memory of one process.
type usage struct {
	Wall time.Duration `json:"wallNanoseconds"`
	CPU  time.Duration `json:"cpuNanoseconds"` // user and system
	Peak int64         `json:"peakBytes"`      // of resident memory; 0 where the system does not say
}

// execute runs a program and returns its standard output. The error contains its standard error.
func execute(ctx context.Context, name string, args ...string) (usage, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		key, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOMEMLIMIT", "GOGC", "GODEBUG", "GOMAXPROCS", "KUBECONFIG",
			"KUBECTL_EXTERNAL_DIFF"}, key)
	})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return usage{}, nil, fmt.Errorf("preparing %s: %w", name, err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, nil, fmt.Errorf("starting %s: %w", name, err)
	}
	peak := watch(cmd.Process.Pid)
	out, readErr := drain(stdout, peak.look)
	peak.end() // before Wait: afterwards another process may get the same id
	err = errors.Join(readErr, cmd.Wait())
	u := usage{Wall: time.Since(start), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: peak.bytes}
	if err != nil {
		return u, out, fmt.Errorf("running %s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return u, out, nil
}

// drain reads to the end and calls look for each piece.
func drain(r io.Reader, look func()) ([]byte, error) {
	var out bytes.Buffer
	piece := make([]byte, 256<<10)
	for {
		n, err := r.Read(piece)
		if n > 0 {
			look()
		}
		out.Write(piece[:n])
		switch {
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		case err != nil:
			return nil, err
		}
	}
}

// watcher reads the peak resident memory of a process every few milliseconds and at each piece of output: the
// value exists only while the process runs. A program that writes a large result at its end, like an audit, waits
// for the reader at its peak. (The peak that wait4 returns cannot be used: it includes the memory of the parent,
// of which the child is a copy until it executes the program.)
type watcher struct {
	pid   int
	mu    sync.Mutex
	bytes int64
	stop  chan struct{}
	done  sync.WaitGroup
}

const watchEvery = 10 * time.Millisecond

func watch(pid int) *watcher {
	w := &watcher{pid: pid, stop: make(chan struct{})}
	w.done.Go(func() {
		ticks := time.NewTicker(watchEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				w.look()
			case <-w.stop:
				return
			}
		}
	})
	return w
}

func (w *watcher) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes = max(w.bytes, peakSoFar(w.pid))
}

func (w *watcher) end() {
	close(w.stop)
	w.done.Wait()
}

// peakSoFar returns the peak resident memory of a running process in bytes, or 0 if it is not known.
func peakSoFar(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
