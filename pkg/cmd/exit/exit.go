// SPDX-License-Identifier: Apache-2.0

// Package exit is the contract of exit statuses: which error ends the program with which number. A wrong command line can never look like
// findings.
package exit

import "errors"

// The statuses of audit and of every verb that only reads.
const (
	// OK: nothing at or above the severity of --fail-on.
	OK = 0
	// Found: findings at or above it.
	Found = 1
	// Usage: a wrong command line.
	Usage = 2
	// Failed: could not finish, no Fleet found, nothing could be read, or a gap under --require-complete.
	Failed = 3
)

// Error is an error with the status that the program ends with.
type Error struct {
	Status int
	Err    error
	// Hint is a second line for the user: what to do.
	Hint string
	// Shown says that everything has been printed already.
	Shown bool
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "findings"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// UsageError makes an error of a wrong command line.
func UsageError(err error) error { return &Error{Status: Usage, Err: err} }

// Status is what the program ends with.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Status
	}
	return Failed
}
