// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
)

// Warnings collects what an API server warns of. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" { // the only code that the API uses
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns what was collected, and begins anew.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}
