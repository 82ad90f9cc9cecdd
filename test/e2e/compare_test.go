// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// TestCompareWithNow compares reports and snapshots with a live cluster, before and after a change.
func TestCompareWithNow(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	c.LoadSnapshot(t, "../testdata/clean")
	kubeconfig := c.Kubeconfig(t)
	before := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(before, []byte(audit(t, kubeconfig).stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	compare := func(args ...string) result {
		return run(t.Context(), t, append([]string{"compare", "--kubeconfig", kubeconfig, "-o", "json"}, args...)...)
	}
	if got := compare(before); got.status != 0 {
		t.Errorf("nothing changed: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if err := c.Client().Delete(t.Context(), object("v1", "ConfigMap", "guestbook", "theme")); err != nil {
		t.Fatal(err)
	}
	got := compare(before)
	var changes report.Comparison
	if err := json.Unmarshal([]byte(got.stdout), &changes); err != nil {
		t.Fatalf("%v: %s", err, got.stderr)
	}
	missing := func(r report.ResourceChange) bool {
		return r.Effect == report.Worse && r.Name == "theme" && r.After.State == report.Missing
	}
	if got.status != 1 || len(changes.Resources) != 1 || !slices.ContainsFunc(changes.Resources, missing) ||
		changes.Summary.BundleDeployments.Worse != 1 {
		t.Errorf("a deleted object: status %d, %+v", got.status, changes)
	}
	// The server gave the Namespace kube-system another uid.
	if got := compare("../testdata/clean"); got.status != 3 || !strings.Contains(got.stderr, "kube-system") {
		t.Errorf("the snapshot of another cluster: status %d: %s", got.status, got.stderr)
	}
}
