// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/render/process"
)

// asProgram is set where the test binary is to be the program.
const asProgram = "FLEETDOCTOR_TEST_AS_PROGRAM"

// TestMain is the program where a test starts it, and where the program starts itself again to render bundles.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || process.IsWorker(os.Args) {
		main()
	}
	os.Exit(m.Run())
}
