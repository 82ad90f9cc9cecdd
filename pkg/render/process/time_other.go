// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "time"

var started = time.Now()

// processorTime is the time on the clock since the process began.
func processorTime() time.Duration { return time.Since(started) }
