// SPDX-License-Identifier: Apache-2.0

//go:build unix

package process

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // the limit of the elapsed time remains
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
