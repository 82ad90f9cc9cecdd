// SPDX-License-Identifier: Apache-2.0

package collect

import "sync/atomic"

// Progress is the progress of reading.
type Progress struct {
	Doing   string // "reading release records"
	Objects int    // objects read so far
}

// progress counts the objects read and reports the count.
type progress struct {
	n      atomic.Int64
	doing  atomic.Value // string
	report func(Progress)
}

// reportEvery is the number of objects between two reports.
const reportEvery = 256

func (p *progress) start(doing string) {
	p.doing.Store(doing)
	p.tell(p.n.Load())
}

func (p *progress) object() {
	if n := p.n.Add(1); n%reportEvery == 0 {
		p.tell(n)
	}
}

func (p *progress) tell(n int64) {
	if p.report != nil {
		doing, _ := p.doing.Load().(string)
		p.report(Progress{Doing: doing, Objects: int(n)})
	}
}
