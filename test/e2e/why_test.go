// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// TestWhy explains objects of a live cluster with the objects of testdata/sick.
func TestWhy(t *testing.T) {
	c := cluster.Start(t)
	c.LoadSnapshot(t, "../testdata/sick")
	t.Setenv("KUBECONFIG", c.Kubeconfig(t))
	for _, tc := range []struct {
		args   []string
		status int
		state  report.State
		first  string // the first object of the first root cause
	}{
		{[]string{"gitrepo/guestbook", "-n", "fleet-local"}, 1, report.NotReady, "theme"},
		{[]string{"bundle/ingress-ingress"}, 1, report.NotReady, "edge"},
		{[]string{"bundle", "absent"}, 3, "", ""},
	} {
		r := run(t.Context(), t, append([]string{"why", "-o", "json"}, tc.args...)...)
		if r.status != tc.status {
			t.Errorf("%v: status %d, want %d: %s", tc.args, r.status, tc.status, r.stderr)
			continue
		}
		if tc.first == "" {
			continue
		}
		var got report.Why
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
			t.Fatal(err)
		}
		resources := got.Objects[0].Causes[0].Steps[0].Resources
		if got.Objects[0].State != tc.state || len(resources) == 0 || !hasName(resources, tc.first) {
			t.Errorf("%v: %s with %+v", tc.args, got.Objects[0].Answer, resources)
		}
	}
}

func hasName(resources []report.Resource, name string) bool {
	for _, r := range resources {
		if r.Name == name {
			return true
		}
	}
	return false
}
