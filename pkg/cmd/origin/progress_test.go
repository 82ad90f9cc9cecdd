// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// screen is a terminal that keeps what was written since it was last looked at.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) look() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// TestProgress holds that nothing is said of what is done within a second, that something is though nothing happens, that a line is not
// rewritten all the time, and that it goes.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := startProgress(&out, func() int { return 80 }, "reaching the cluster")
		for _, step := range []struct {
			after time.Duration
			tell  collect.Progress
			want  string
		}{
			{after: 999 * time.Millisecond},
			{after: time.Millisecond, want: "reaching the cluster"}, // nothing was told: the server hangs
			{after: time.Hour},                                      // and is not written anew over what else stands there
			{tell: collect.Progress{Doing: "reading", Objects: 7}},
			{after: 100 * time.Millisecond, want: "\r\x1b[Kreading (7 objects)"},
			{after: 50 * time.Millisecond, tell: collect.Progress{Doing: "reading", Objects: 8}},
			{after: 50 * time.Millisecond, tell: collect.Progress{Doing: "reading", Objects: 8}, want: "\r\x1b[Kreading (8 objects)"},
		} {
			if step.tell.Doing != "" {
				p.Tell(step.tell)
			}
			<-time.After(step.after)
			synctest.Wait()
			if got := out.look(); got != step.want {
				t.Errorf("after %v more: %q, want %q", step.after, got, step.want)
			}
		}
		p.Clear()
		if got := out.look(); got != "\r\x1b[K" {
			t.Errorf("at the end: %q", got)
		}
		p.Tell(collect.Progress{Doing: "late"})
		p.Clear()
		<-time.After(time.Hour)
		if got := out.look(); got != "" {
			t.Errorf("after the end: %q", got)
		}
	})
}

// TestProgressOfTheQuick holds that nothing is written, not even to erase it, of what takes less than a second.
func TestProgressOfTheQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := startProgress(&out, func() int { return 80 }, "reaching the cluster")
		<-time.After(patience / 2)
		p.Clear()
		if got := out.look(); got != "" {
			t.Errorf("%q", got)
		}
	})
}

// TestProgressFits holds that the line stays below the terminal's width: what wraps is not erased as one line.
func TestProgressFits(t *testing.T) {
	for columns, want := range map[int]string{80: "größe (7 objects)", 8: "größe (", 1: "", 0: ""} {
		p := &Progress{columns: func() int { return columns }, state: collect.Progress{Doing: "größe", Objects: 7}}
		if got := p.line(); got != want {
			t.Errorf("on %d columns: %q, want %q", columns, got, want)
		}
	}
}

// TestNoTerminal holds that what is no terminal is told nothing.
func TestNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := New(Environment{Streams: genericiooptions.IOStreams{ErrOut: &out}}).Progress()
		p.Tell(collect.Progress{Doing: "reading"})
		<-time.After(time.Hour)
		p.Clear()
		if got := out.look(); got != "" {
			t.Errorf("%q", got)
		}
	})
}
