// SPDX-License-Identifier: Apache-2.0

//go:build race

package e2e

// raced reports whether the tests run with the race detector.
const raced = true
