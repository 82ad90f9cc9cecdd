// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

const (
	// progressDelay is how long an operation may take before the line appears.
	progressDelay = time.Second
	// progressRefresh is the shortest time between two changes of the line.
	progressRefresh = 100 * time.Millisecond
	// eraseLine empties the line that the cursor is in (ECMA-48: carriage return, erase in line).
	eraseLine = "\r\x1b[K"
)

// Progress is one line on a terminal that is overwritten, and erased at the end. A timer draws it, not the events,
// because a server that hangs causes no events.
type Progress struct {
	out   io.Writer
	width func() int

	mu      sync.Mutex
	text    string
	objects int

	clear sync.Once
	stop  chan struct{} // closed to erase the line
	done  chan struct{} // closed when it is erased
}

// StartProgress starts to show a text on a stream, if the stream is a terminal. Clear must be called.
func StartProgress(out io.Writer, text string) *Progress {
	if !IsTerminal(out) {
		out = nil
	}
	return startProgress(out, func() int { return terminalWidth(out) }, text)
}

// startProgress shows nothing if out is nil.
func startProgress(out io.Writer, width func() int, text string) *Progress {
	p := &Progress{out: out, width: width, text: text, stop: make(chan struct{}), done: make(chan struct{})}
	if out == nil {
		close(p.done)
		return p
	}
	go p.draw()
	return p
}

// Show changes the text. objects is the number of objects that were processed; 0 is not shown. It may be called from
// several goroutines.
func (p *Progress) Show(text string, objects int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.objects = text, objects
}

// Clear erases the line. After it returns, nothing is drawn. It may be called again.
func (p *Progress) Clear() {
	p.clear.Do(func() { close(p.stop) })
	<-p.done
}

func (p *Progress) draw() {
	defer close(p.done)
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	select {
	case <-p.stop:
		return
	case <-timer.C:
	}
	ticker := time.NewTicker(progressRefresh)
	defer ticker.Stop()
	shown := p.line()
	fmt.Fprint(p.out, shown) // without erasing: the line can have the question of a credential plugin
	for {
		select {
		case <-p.stop:
			fmt.Fprint(p.out, eraseLine)
			return
		case <-ticker.C:
		}
		if line := p.line(); line != shown {
			fmt.Fprint(p.out, eraseLine+line)
			shown = line
		}
	}
}

// line is the text, shortened to less than the width of the terminal: a wrapped line cannot be erased.
func (p *Progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.text
	if p.objects > 0 {
		s += fmt.Sprintf(" (%d objects)", p.objects)
	}
	r := []rune(escape.Line(s))
	return string(r[:min(len(r), max(p.width()-1, 0))])
}
