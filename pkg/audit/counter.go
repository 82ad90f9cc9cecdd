// SPDX-License-Identifier: Apache-2.0

package audit

import "sync/atomic"

// counter counts the objects read and passes progress on.
type counter struct {
	n      atomic.Int64
	doing  atomic.Value // string
	report func(Progress)
}

// every so many objects progress is passed on.
const every = 256

func (c *counter) start(doing string) {
	c.doing.Store(doing)
	c.tell(c.n.Load())
}

func (c *counter) object() {
	if n := c.n.Add(1); n%every == 0 {
		c.tell(n)
	}
}

func (c *counter) tell(n int64) {
	if c.report != nil {
		doing, _ := c.doing.Load().(string)
		c.report(Progress{Doing: doing, Objects: int(n)})
	}
}
