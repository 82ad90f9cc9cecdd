// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// terminal collects output. It is safe for concurrent use.
type terminal struct {
	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (o *terminal) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(p)
}

// taken returns the output and empties it.
func (o *terminal) taken() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.out.Reset()
	return o.out.String()
}

// TestProgress checks that the line appears after a second even if nothing happens, that it is not rewritten all the
// time, and that it is erased.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out terminal
		p := startProgress(&out, func() int { return 80 }, "connecting to the cluster")
		for _, step := range []struct {
			after   time.Duration
			show    string
			objects int
			want    string
		}{
			{after: 999 * time.Millisecond},
			{after: time.Millisecond, want: "connecting to the cluster"}, // no event: the server hangs
			{after: time.Hour},                                           // and the line is not written again
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
			if got := out.taken(); got != step.want {
				t.Errorf("after %v more: %q, want %q", step.after, got, step.want)
			}
		}
		p.Clear()
		if got := out.taken(); got != "\r\x1b[K" {
			t.Errorf("at the end: %q", got)
		}
		p.Show("late", 0)
		p.Clear()
		<-time.After(time.Hour)
		if got := out.taken(); got != "" {
			t.Errorf("after the end: %q", got)
		}
	})
}

// TestQuickProgress checks that an operation of less than a second writes nothing, not even to erase the line.
func TestQuickProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out terminal
		p := startProgress(&out, func() int { return 80 }, "connecting to the cluster")
		<-time.After(progressDelay / 2)
		p.Clear()
		if got := out.taken(); got != "" {
			t.Errorf("%q", got)
		}
	})
}

// TestProgressFits checks that the line is shorter than the width of the terminal: a wrapped line cannot be erased.
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
		var out terminal
		p := StartProgress(&out, "connecting to the cluster")
		p.Show("reading", 0)
		<-time.After(time.Hour)
		p.Clear()
		if got := out.taken(); got != "" {
			t.Errorf("%q", got)
		}
	})
}
