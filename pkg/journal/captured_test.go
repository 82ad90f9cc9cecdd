// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
)

// TestCaptured checks that a snapshot keeps nothing else of a ConfigMap than the fields of its lines.
func TestCaptured(t *testing.T) {
	const seen = `{"time":"2026-01-02T03:04:05Z","verb":"delete","user":"alice","apiVersion":"v1","kind":"ConfigMap",` +
		`"name":"a"}` + "\n"
	const entry = `{"event":"Deleted","from":"2026-01-02T03:04:05Z","to":"2026-01-02T03:04:06Z",` +
		`"bundleDeployment":"w/b","release":"w/b","revision":1,"total":1}` + "\n"
	const more = `{"password":"invented"}` + "\npassword: invented\n"
	data := map[string]any{journal.SeenKey: more + seen, journal.Key: entry + more, "password": "invented"}
	for _, tc := range []struct {
		name      string
		isJournal bool
		want      map[string]any
	}{
		{journal.SeenName, false, map[string]any{journal.SeenKey: seen}},
		{"journal", true, map[string]any{journal.Key: entry}},
		{"settings", false, nil},
	} {
		if diff := cmp.Diff(tc.want, journal.Captured(tc.name, tc.isJournal, data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
