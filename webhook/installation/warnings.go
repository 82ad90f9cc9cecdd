// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Warning is a warning of the API server, from this webhook or another source.
type Warning struct {
	// Code is the stable code of a warning of this webhook, absent in other warnings.
	Code admission.WarningCode `json:"code,omitempty"`
	// Message is text for people.
	Message string `json:"message"`
}

func parseWarning(text string) Warning {
	if w, ok := admission.ParseWarning(text); ok {
		return Warning{w.Code, w.Message}
	}
	return Warning{Message: text}
}

// warned reports whether a handler sent one of the warnings. The API server does not name the webhook.
func warned(warnings []Warning, webhook string) bool {
	return slices.ContainsFunc(warnings, func(w Warning) bool {
		isMutating := slices.Contains(admission.MutatingCodes(), w.Code)
		return w.Code != "" && isMutating == (webhook == StampWebhook)
	})
}

// Warnings collects the warnings of an API server. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	mu  sync.Mutex
	all []Warning
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" { // the only code that the API uses
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, parseWarning(text))
}

// Take returns the collected warnings and removes them.
func (w *Warnings) Take() []Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.all
	w.all = nil
	return out
}
