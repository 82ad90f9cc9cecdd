// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

const (
	// patience is how long reading may take before a terminal is told what is being done.
	patience = time.Second
	// refresh is how often the line may change.
	refresh = 100 * time.Millisecond
	// erase empties the line that the cursor is in (ECMA-48: carriage return, erase in line).
	erase = "\r\x1b[K"
)

// Progress is one line on a terminal that is written over, and taken away at the end. It is drawn by the clock and not by events: a server
// that hangs sends none.
type Progress struct {
	out     io.Writer
	columns func() int

	mu    sync.Mutex
	state collect.Progress

	clear sync.Once
	stop  chan struct{} // closed to have the line taken away
	done  chan struct{} // closed when it is
}

// Progress starts telling on standard error, where that is a terminal, what is being done. Clear must be called.
func (f *Flags) Progress() *Progress {
	begin := "reaching the cluster"
	if f.Captured() {
		begin = "reading the snapshot"
	}
	if out := f.Streams.ErrOut; IsTerminal(out) {
		return startProgress(out, func() int { return columns(out) }, begin)
	}
	return startProgress(nil, nil, begin)
}

// startProgress starts the line; without a writer there is none.
func startProgress(out io.Writer, columns func() int, begin string) *Progress {
	p := &Progress{out: out, columns: columns, state: collect.Progress{Doing: begin}, stop: make(chan struct{}), done: make(chan struct{})}
	if out == nil {
		close(p.done)
		return p
	}
	go p.draw()
	return p
}

// Tell says what is being done now. It may be called from several goroutines.
func (p *Progress) Tell(now collect.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = now
}

// Clear takes the line away; nothing is drawn after it has returned. It may be called again.
func (p *Progress) Clear() {
	p.clear.Do(func() { close(p.stop) })
	<-p.done
}

func (p *Progress) draw() {
	defer close(p.done)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.stop:
		return
	case <-timer.C:
	}
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	shown := p.line()
	fmt.Fprint(p.out, shown) // not over what stands there: a sign-in program's question, say
	for {
		select {
		case <-p.stop:
			fmt.Fprint(p.out, erase)
			return
		case <-ticker.C:
		}
		if line := p.line(); line != shown {
			fmt.Fprint(p.out, erase+line)
			shown = line
		}
	}
}

// line is what is to be shown, in less than the terminal's width: a line that wraps is not erased as one.
func (p *Progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state.Doing
	if p.state.Objects > 0 {
		s += fmt.Sprintf(" (%d objects)", p.state.Objects)
	}
	r := []rune(escape.Line(s))
	return string(r[:min(len(r), max(p.columns()-1, 0))])
}
