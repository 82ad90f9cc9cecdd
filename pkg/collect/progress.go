// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"strconv"
	"sync/atomic"
)

// Progress is how far reading has come.
type Progress struct {
	Doing   string // "reading release records"
	Objects int    // objects read so far
}

// progress counts the objects read and passes that on.
type progress struct {
	n      atomic.Int64
	doing  atomic.Value // string
	report func(Progress)
}

// every so many objects progress is passed on.
const every = 256

func (p *progress) start(doing string) {
	p.doing.Store(doing)
	p.tell(p.n.Load())
}

func (p *progress) object() {
	if n := p.n.Add(1); n%every == 0 {
		p.tell(n)
	}
}

func (p *progress) tell(n int64) {
	if p.report != nil {
		doing, _ := p.doing.Load().(string)
		p.report(Progress{Doing: doing, Objects: int(n)})
	}
}

func count(n int) string { return strconv.Itoa(n) }
