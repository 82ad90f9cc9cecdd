// SPDX-License-Identifier: Apache-2.0

// Package poll waits, in tests, for what a server or a process does a moment after it answered.
package poll

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// What these tests wait for takes milliseconds. The deadline is an emergency stop: only a test that would wait for ever reaches it.
const (
	Interval = 20 * time.Millisecond
	Deadline = 5 * time.Minute
)

// Until tries until there is no error. After the deadline, the test fails with the last one.
func Until(tb testing.TB, try func() error) {
	tb.Helper()
	var last error
	err := wait.PollUntilContextTimeout(tb.Context(), Interval, Deadline, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("%v; at last: %v", err, last)
	}
}

// True asks until it is so. After the deadline, the test fails and says what is not.
func True(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	Until(tb, func() error {
		if !so() {
			return errors.New("it is not so: " + what)
		}
		return nil
	})
}
