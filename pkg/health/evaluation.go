// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// evaluation is the state that the rules share during one evaluation.
type evaluation struct {
	obj        map[string]any
	now        time.Time
	conditions []condition

	state              string
	err, transitioning bool
	messages           []string

	decided        Condition
	decidedByError bool

	computed  computed // by kstatus
	lookAgain time.Time
}

// computed is the result of kstatus for an object; the zero value if it returns
// none.
type computed struct {
	status  status.Status
	message string
	// reason and detail are those of the standard condition that kstatus
	// derives. If it derived it from a condition of the object, they are the
	// reason and the message of that condition.
	reason, detail string
}

// reached reports whether a time is not in the future. Otherwise, the result can
// change at that time.
func (e *evaluation) reached(t time.Time) bool {
	if !t.After(e.now) {
		return true
	}
	if e.lookAgain.IsZero() || t.Before(e.lookAgain) {
		e.lookAgain = t
	}
	return false
}

// addMessage adds a message, trimmed, if it is not empty.
func (e *evaluation) addMessage(message string) {
	if message = strings.TrimSpace(message); message != "" {
		e.messages = append(e.messages, message)
	}
}

// fail records a condition that is an error.
func (e *evaluation) fail(c condition) {
	e.err = true
	e.addMessage(c.message)
	if !e.decidedByError {
		e.decided, e.decidedByError = c.Condition, true
	}
}

// progress records a condition for work in progress. It replaces neither an
// earlier one nor an error.
func (e *evaluation) progress(c condition) {
	e.transitioning = true
	e.addMessage(c.message)
	if e.decided == (Condition{}) {
		e.decided = c.Condition
	}
}

// finishProgress records that no work is in progress, and removes the condition for it.
func (e *evaluation) finishProgress() {
	e.transitioning = false
	if !e.decidedByError {
		e.decided = Condition{}
	}
}

// distinct removes repeated texts. It reuses the slice.
func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	return slices.DeleteFunc(texts, func(t string) bool {
		repeated := seen[t]
		seen[t] = true
		return repeated
	})
}
