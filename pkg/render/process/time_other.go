// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import "time"

var started = time.Now()

// processorTime returns the elapsed time since the start of the process.
func processorTime() time.Duration { return time.Since(started) }
