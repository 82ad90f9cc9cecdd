// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// captured opens a case file and ignores its first document.
func captured(t *testing.T, file string) source.Source {
	t.Helper()
	var head map[string]any
	capture, err := cases.Read("../../test/testdata/"+file, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	s, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestThreeSides checks the layout of a field with three values: 3 in the bundle, 2 in the release, 5 on the cluster.
func TestThreeSides(t *testing.T) {
	a, err := audit.Run(t.Context(), captured(t, "cases/desired-three-sides.yaml"),
		audit.Options{Commands: cases.Commands, Version: "test", Desired: audit.DesiredBundle})
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "three-sides.diff", show(t, a.Report(), "table", printers.Options{Diff: true}))
}
