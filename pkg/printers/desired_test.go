// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
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

// threeSides is a report of a field with three values: 3 in the bundle, 2 in the release, 5 on the cluster.
func threeSides(t *testing.T) *report.Audit {
	t.Helper()
	a, err := audit.Run(t.Context(), captured(t, "cases/desired-three-sides.yaml"),
		audit.Options{Commands: cases.Commands, Version: "test", Desired: audit.DesiredBundle})
	if err != nil {
		t.Fatal(err)
	}
	return a.Report()
}
