// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"sync"
)

// Interruption coordinates a verb and the process after an interruption. A verb ends when its context ends. If it does
// not, the process ends it, unless the verb holds the interruption. On a nil Interruption the methods have no effect:
// the process never ends the verb.
type Interruption struct {
	mu       sync.Mutex
	holders  int
	released chan struct{} // closed when the last holder has released; nil without holders
	cancels  []context.CancelFunc
}

// Hold keeps the process from ending the verb until release is called: while the verb writes to the cluster and records
// the writes, or drains connections. The returned context does not end with ctx. Expire ends it, which cancels pending
// requests.
func (i *Interruption) Hold(ctx context.Context) (finish context.Context, release func()) {
	finish, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if i == nil {
		return finish, cancel
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.holders++; i.holders == 1 {
		i.released = make(chan struct{})
	}
	i.cancels = append(i.cancels, cancel)
	return finish, func() {
		cancel()
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.holders--; i.holders == 0 {
			close(i.released)
			i.released = nil
		}
	}
}

// Expire ends the contexts of all holders. The channel is closed when all have released; it is nil without holders.
func (i *Interruption) Expire() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, cancel := range i.cancels {
		cancel()
	}
	return i.released
}
