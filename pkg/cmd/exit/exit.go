// SPDX-License-Identifier: Apache-2.0

// Package exit defines the exit status of errors. The status of wrong usage is never that of findings.
package exit

import "errors"

// The statuses of audit and of every verb that only reads.
const (
	// OK: no findings at or above the severity of --fail-on.
	OK = 0
	// Found: findings at or above it.
	Found = 1
	// Usage: wrong usage of the command line.
	Usage = 2
	// Failed: not completed, no Fleet found, nothing could be read, or a gap under --require-complete.
	Failed = 3
)

// Error is an error with an exit status.
type Error struct {
	Status int
	Err    error
	// Hint is a second line for the user: what to do.
	Hint string
	// Shown says that the error needs no message: everything was printed.
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

// UsageError returns an error with the status of wrong usage.
func UsageError(err error) error { return &Error{Status: Usage, Err: err} }

// Status is the exit status of an error, Failed for an error without one.
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
