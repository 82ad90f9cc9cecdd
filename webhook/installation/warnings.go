// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// warned reports whether a handler sent one of the warnings. The API server does not name the webhook.
func warned(warnings []admission.Warning, webhook string) bool {
	return slices.ContainsFunc(warnings, func(w admission.Warning) bool {
		isMutating := slices.Contains(admission.MutatingCodes(), w.Code)
		return w.Code != "" && isMutating == (webhook == StampWebhook)
	})
}

// Warnings collects the warnings of an API server. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	mu  sync.Mutex
	all []admission.Warning
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" { // the only code that the API uses
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, admission.ParseWarning(text))
}

// Take returns the collected warnings and removes them.
func (w *Warnings) Take() []admission.Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.all
	w.all = nil
	return out
}
