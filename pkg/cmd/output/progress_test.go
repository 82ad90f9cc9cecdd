// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// screen is a terminal that keeps what was written since the last look.
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

// TestProgress checks that the line appears after a second even if nothing happens, that it is not rewritten all the time, and that it is
// erased.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := startProgress(&out, func() int { return 80 }, "reaching the cluster")
		for _, step := range []struct {
			after   time.Duration
			show    string
			objects int
			want    string
		}{
			{after: 999 * time.Millisecond},
			{after: time.Millisecond, want: "reaching the cluster"}, // nothing was told: the server hangs
			{after: time.Hour},                                      // and is not written anew over what else stands there
			{show: "reading", objects: 7},
			{after: 100 * time.Millisecond, want: "\r\x1b[Kreading (7 objects)"},
			{after: 50 * time.Millisecond, show: "reading", objects: 8},
			{after: 50 * time.Millisecond, show: "reading", objects: 8, want: "\r\x1b[Kreading (8 objects)"},
		} {
			if step.show != "" {
				p.Show(step.show, step.objects)
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
		p.Show("late", 0)
		p.Clear()
		<-time.After(time.Hour)
		if got := out.look(); got != "" {
			t.Errorf("after the end: %q", got)
		}
	})
}

// TestProgressOfTheQuick checks that an operation of less than a second writes nothing, not even to erase the line.
func TestProgressOfTheQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := startProgress(&out, func() int { return 80 }, "reaching the cluster")
		<-time.After(progressDelay / 2)
		p.Clear()
		if got := out.look(); got != "" {
			t.Errorf("%q", got)
		}
	})
}

// TestProgressFits checks that the line is shorter than the terminal's width: a line that wraps is not erased as one.
func TestProgressFits(t *testing.T) {
	for columns, want := range map[int]string{80: "größe (7 objects)", 8: "größe (", 1: "", 0: ""} {
		p := &Progress{width: func() int { return columns }, text: "größe", objects: 7}
		if got := p.line(); got != want {
			t.Errorf("on %d columns: %q, want %q", columns, got, want)
		}
	}
}

// TestNoTerminal checks that nothing is written to a stream that is not a terminal.
func TestNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		p := StartProgress(&out, "reaching the cluster")
		p.Show("reading", 0)
		<-time.After(time.Hour)
		p.Clear()
		if got := out.look(); got != "" {
			t.Errorf("%q", got)
		}
	})
}
