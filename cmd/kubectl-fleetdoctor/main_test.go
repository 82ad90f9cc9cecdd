// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// asProgram is an environment variable. If it is set, the test binary runs the program instead of the tests.
const asProgram = "FLEETDOCTOR_TEST_AS_PROGRAM"

// TestMain runs the program if a test started it, or if the program started itself to render bundles.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || process.IsWorker(os.Args) {
		main()
	}
	os.Exit(m.Run())
}
