// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// limitKernel does nothing: the kernel of this platform bounds no process's memory by such a limit, so the worker's own watch is all there is.
func limitKernel(int64) {}
