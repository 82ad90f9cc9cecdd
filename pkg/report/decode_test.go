// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

const reportHead = `{"apiVersion":"fleetdoctor.io/v1alpha1","kind":"AuditReport",`

// TestEntries checks that a report with many small entries is refused before it is decoded: each of them needs hundreds
// of bytes.
func TestEntries(t *testing.T) {
	t.Parallel()
	const many = 600_000
	finding := `{"code":"FD104","severity":"error","message":"x"}`
	for name, tc := range map[string]struct {
		text    string
		refused bool
	}{
		"empty findings": {reportHead + `"findings":[` + strings.Repeat("{},", many) + `{}]}`, true},
		"null":           {reportHead + `"bundleDeployments":[` + strings.Repeat("null,", many) + `null]}`, true},
		"numbers":        {reportHead + `"findings":[` + strings.Repeat("0,", many) + `0]}`, true},
		"nested":         {reportHead + `"findings":[{"remedies":[` + strings.Repeat("{},", many) + `{}]}]}`, true},
		"YAML": {"apiVersion: fleetdoctor.io/v1alpha1\nkind: AuditReport\nfindings: [" +
			strings.Repeat("{},", many) + "{}]\n", true},
		"many lines": {"apiVersion: fleetdoctor.io/v1alpha1\nkind: AuditReport\nfindings:\n" +
			strings.Repeat("-\n", 2_000_001), true},
		"too many findings": {reportHead + `"findings":[` + strings.Repeat(finding+",", 1_000_001) + finding + `]}`,
			true},
		"a small report": {reportHead + `"findings":[` + strings.Repeat("{},", 5_000) + `{}]}`, false},
		"a large report": {reportHead + `"findings":[` + strings.Repeat(finding+",", 50_000) + finding + `]}`,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := report.DecodeAudit("report.json", []byte(tc.text))
			if refused := err != nil && strings.Contains(err.Error(), "entries"); refused != tc.refused ||
				(a == nil) != tc.refused {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestFormerBaseline checks that a report of the previous version without its known findings is refused.
func TestFormerBaseline(t *testing.T) {
	_, err := report.DecodeAudit("report.json", []byte(reportHead+`"summary":{"baseline":0}}`))
	if err == nil || !strings.Contains(err.Error(), "report.json was made with the removed flag --baseline") {
		t.Errorf("error %v", err)
	}
}
