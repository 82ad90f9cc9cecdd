// SPDX-License-Identifier: Apache-2.0

//go:build race

package e2e

// raced says whether the tests run under the race detector.
const raced = true
