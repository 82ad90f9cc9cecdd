// SPDX-License-Identifier: Apache-2.0

// Package poll waits in tests for effects that a server or a process has after it has answered.
package poll

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The effects take milliseconds. The deadline is an emergency stop for a test that would otherwise wait forever.
const (
	Interval = 20 * time.Millisecond
	Deadline = 5 * time.Minute
)

// Until calls try until it returns no error. After the deadline, the test fails with the last error.
func Until(tb testing.TB, try func() error) {
	tb.Helper()
	var last error
	err := wait.PollUntilContextTimeout(tb.Context(), Interval, Deadline, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("%v; last error: %v", err, last)
	}
}

// True calls condition until it returns true. After the deadline, the test fails.
func True(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	Until(tb, func() error {
		if !condition() {
			return errors.New("not true: " + what)
		}
		return nil
	})
}
