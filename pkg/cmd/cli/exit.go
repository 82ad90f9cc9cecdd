// SPDX-License-Identifier: Apache-2.0

package cli

import "errors"

// The statuses of audit and of every verb that only reads.
const (
	// ExitOK: no findings at or above the severity of --fail-on.
	ExitOK = 0
	// ExitFound: findings at or above it.
	ExitFound = 1
	// ExitUsage: wrong usage of the command line.
	ExitUsage = 2
	// ExitFailed: not completed, no Fleet found, nothing could be read, or a gap under --require-complete.
	ExitFailed = 3
)

// Error is an error with an exit status.
type Error struct {
	Status int
	Err    error
	// Hint is a second line for the user: the next step.
	Hint string
	// Shown is true if the error needs no message: everything was printed.
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
func UsageError(err error) error { return &Error{Status: ExitUsage, Err: err} }

// Failure returns an error with the status of a run that is not complete, and the next step for the user.
func Failure(err error, hint string) error { return &Error{Status: ExitFailed, Err: err, Hint: hint} }

// Errors are several errors, each with its own hint.
type Errors []error

// Error implements error. The messages are lines.
func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors. The exit status is that of the first one.
func (e Errors) Unwrap() []error { return e }

// ExitStatus is the exit status of an error, ExitFailed for an error without one.
func ExitStatus(err error) int {
	if err == nil {
		return ExitOK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return ExitFailed
}
