// SPDX-License-Identifier: Apache-2.0

package origin

import (
	"context"
	"sync"
)

// Interruption is what a verb and the process agree on for the time after an interruption. A verb ends when its context ends. The process
// ends a verb that does not, unless the verb holds it. The methods of nil do nothing: nobody ends the verb.
type Interruption struct {
	mu       sync.Mutex
	holders  int
	released chan struct{} // closed when the last holder has released; nil where there is none
	over     []context.CancelFunc
}

// Hold keeps the process from ending the verb until release is called: while it writes to the cluster and records what it wrote, or while it
// drains. The context that is returned has no end but that of the time which an interrupted verb has: what is under way then is given up.
func (i *Interruption) Hold(ctx context.Context) (finish context.Context, release func()) {
	finish, over := context.WithCancel(context.WithoutCancel(ctx))
	if i == nil {
		return finish, over
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.holders++; i.holders == 1 {
		i.released = make(chan struct{})
	}
	i.over = append(i.over, over)
	return finish, func() {
		over()
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.holders--; i.holders == 0 {
			close(i.released)
			i.released = nil
		}
	}
}

// Expire ends the contexts of all holders. The channel is closed when they have released, and is nil where nobody holds.
func (i *Interruption) Expire() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, over := range i.over {
		over()
	}
	return i.released
}
