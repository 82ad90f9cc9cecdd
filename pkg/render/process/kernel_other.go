// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// limitKernel does nothing: the kernel of this platform has no such limit, so only the worker itself checks its memory.
func limitKernel(int64) {}
