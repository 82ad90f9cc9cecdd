// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// limitKernel has the kernel refuse the process memory beyond twice the limit. The worker's own watch has that room to say why it ends.
func limitKernel(memory int64) {
	most := uint64(memory) * 2
	r := syscall.Rlimit{Cur: most, Max: most}
	// Where it is refused, the worker's own watch remains.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &r)
}
