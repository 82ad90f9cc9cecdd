// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// limitKernel makes the kernel refuse memory above twice the limit. Below that, the worker itself detects that it
// exceeds the limit, and reports it.
func limitKernel(memory int64) {
	most := uint64(memory) * 2
	r := syscall.Rlimit{Cur: most, Max: most}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &r) // without it, the check in the worker remains
}
