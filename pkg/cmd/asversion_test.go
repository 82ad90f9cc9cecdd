// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestAuditAsVersion checks that a report for another version says so, and that the results of that version are in it.
func TestAuditAsVersion(t *testing.T) {
	for version, want := range map[string]bool{"0.11": true, "v0.13.0": false} {
		got := run(t, "audit", "--snapshot", sick, "--as-version", version, "-o", "json")
		var a report.Audit
		if err := json.Unmarshal([]byte(got.out), &a); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range a.Findings {
			found = found || f.Code == "FD501"
		}
		notes := strings.Join(a.Notes, "\n")
		if found != want || strings.Contains(notes, "FD501") != want || len(a.Notes) != 2 ||
			!strings.Contains(notes, "as if Fleet v0.1") {
			t.Errorf("%s: FD501 %v, notes %q", version, found, a.Notes)
		}
	}
}
