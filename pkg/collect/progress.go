// SPDX-License-Identifier: Apache-2.0

package collect

import "sync/atomic"

// Progress is the progress of reading.
type Progress struct {
	Doing   string // "reading release records"
	Objects int    // objects read so far
}

// Meter counts objects and reports the count. Several goroutines may use it.
type Meter struct {
	// Report receives the progress; nil if it is not needed.
	Report func(Progress)

	n     atomic.Int64
	doing atomic.Value // string
}

// reportEvery is the number of objects between two reports.
const reportEvery = 256

// Start reports what is done next.
func (m *Meter) Start(doing string) {
	m.doing.Store(doing)
	m.tell(m.n.Load())
}

// Object counts an object.
func (m *Meter) Object() {
	if n := m.n.Add(1); n%reportEvery == 0 {
		m.tell(n)
	}
}

func (m *Meter) tell(n int64) {
	if m.Report != nil {
		doing, _ := m.doing.Load().(string)
		m.Report(Progress{Doing: doing, Objects: int(n)})
	}
}
