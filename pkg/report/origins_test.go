// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

// TestWithoutOrphans checks that a finding names a cause only if the report has it, also as a part of a merged
// finding.
func TestWithoutOrphans(t *testing.T) {
	a := &Audit{}
	cause, merged, follows := Finding{ID: "one"}, Finding{ID: "one", IDs: []string{"one", "two"}}, Finding{ID: "three",
		CausedBy: &Origin{ID: "two"}}
	for name, tc := range map[string]struct {
		findings []Finding
		named    bool
	}{
		"absent": {[]Finding{cause, follows}, false},
		"merged": {[]Finding{merged, follows}, true},
		"itself": {[]Finding{{ID: "two"}, follows}, true},
	} {
		got := a.WithFindings(tc.findings).Findings
		if named := got[1].CausedBy != nil; named != tc.named {
			t.Errorf("%s: a cause is named: %v", name, named)
		}
	}
	if follows.CausedBy == nil {
		t.Error("the finding itself was changed")
	}
}
