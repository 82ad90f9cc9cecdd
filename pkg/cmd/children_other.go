// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cmd

// endChildren does nothing: the signal of a terminal reaches child processes too.
func endChildren() {}
