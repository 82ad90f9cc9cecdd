// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"syscall"
	"time"
)

// processorTime is what the process has taken so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // the Runner's clock remains
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
