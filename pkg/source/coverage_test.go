// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestWhole checks that the List of one namespace is not a List of all, although it yields all cluster-scoped objects.
func TestWhole(t *testing.T) {
	failure := source.Failure{Reason: source.Forbidden}
	for name, tc := range map[string]struct {
		coverage source.Coverage
		want     bool
	}{
		"all namespaces":            {source.Covered(), true},
		"nothing":                   {source.NotCovered(failure), false},
		"the zero value":            {source.Coverage{}, false},
		"one namespace":             {source.CoveredIn([]string{"", "web"}, failure), false},
		"all namespaces except one": {source.Covered().With("web", &failure), false},
	} {
		if got := tc.coverage.Whole(); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	if _, covered := source.CoveredIn([]string{"", "web"}, failure).Of(""); !covered {
		t.Error("the cluster-scoped objects of the List of one namespace are not covered")
	}
}
