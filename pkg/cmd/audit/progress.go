// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	engine "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
)

const (
	// patience is how long an audit may take before it says what it is doing.
	patience = time.Second
	// refresh is how often the line is written anew.
	refresh = 100 * time.Millisecond
)

// progress is one line on a terminal that is written over, and taken away at the end.
type progress struct {
	mu    sync.Mutex
	out   io.Writer // nil where there is no terminal
	now   func() time.Time
	start time.Time
	last  time.Time
	shown bool
}

func newProgress(w io.Writer, now func() time.Time) *progress {
	p := &progress{now: now, start: now()}
	if isTerminal(w) {
		p.out = w
	}
	return p
}

func (p *progress) tell(e engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.now()
	if p.out == nil || t.Sub(p.start) < patience || t.Sub(p.last) < refresh {
		return
	}
	p.last, p.shown = t, true
	fmt.Fprintf(p.out, "\r\x1b[K%s (%d objects)", e.Doing, e.Objects)
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
