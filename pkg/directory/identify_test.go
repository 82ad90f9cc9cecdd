// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestLatest checks which revision of a release counts.
func TestLatest(t *testing.T) {
	rec := func(revision int, status string) *state.Record {
		r := &state.Record{Record: release.Record{Name: release.Name{Namespace: "web", Name: "a", Revision: revision},
			Status: status}}
		if status == "" {
			r.Damaged = "it is damaged"
		}
		return r
	}
	for _, tc := range []struct {
		name    string
		history []*state.Record
		want    int // 0 if no revision is expected
	}{
		{"one", []*state.Record{rec(1, "deployed")}, 1},
		{"the highest deployed", []*state.Record{rec(1, "superseded"), rec(2, "deployed"), rec(3, "failed")}, 2},
		{"two deployed", []*state.Record{rec(1, "deployed"), rec(2, "deployed")}, 2},
		{"a newer one is pending", []*state.Record{rec(4, "deployed"), rec(5, "pending-upgrade")}, 4},
		{"none deployed: the highest", []*state.Record{rec(1, "failed"), rec(2, "pending-install")}, 2},
		{"the highest is damaged", []*state.Record{rec(1, "deployed"), rec(2, "")}, 1},
		{"all are damaged", []*state.Record{rec(1, ""), rec(2, "")}, 0},
		{"no records", nil, 0},
	} {
		got := 0
		if r := Latest(tc.history); r != nil {
			got = r.Revision
		}
		if got != tc.want {
			t.Errorf("%s: revision %d, want %d", tc.name, got, tc.want)
		}
	}
}
