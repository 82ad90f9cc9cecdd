// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// TestMappingsForbidden checks that no deployment in another namespace than its bundle is called absent or left over, and that a gap says why, if
// BundleNamespaceMappings may not be read. Deployments in the namespace of the bundle do not depend on them.
func TestMappingsForbidden(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault faulty
		want  []string // findings about targets, and gaps
	}{
		{"read", faulty{}, []string{"FD302 far team/two", "FD302 near team/one", "FD302 near-two team/two"}},
		{"mappings forbidden", faulty{lists: map[string]source.Coverage{"BundleNamespaceMapping": forbidden}},
			[]string{"FD302 near team/one", "FD302 near-two team/two", "listing BundleNamespaceMapping objects"}},
		{"namespaces forbidden", faulty{lists: map[string]source.Coverage{"Namespace": forbidden}},
			[]string{"FD302 near team/one", "FD302 near-two team/two", "listing Namespace objects", "listing the namespaces of clusters"}},
	} {
		got, err := auditCase(t, "targets-mapped", tc.fault)
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for _, f := range got.Findings {
			if strings.HasPrefix(f.Code, "FD30") {
				seen = append(seen, f.Code+" "+f.Object.Name+" "+f.Cluster)
			}
		}
		for _, g := range got.Gaps {
			if strings.HasPrefix(g.What, "listing") {
				seen = append(seen, g.What)
			}
		}
		slices.Sort(seen)
		if diff := cmp.Diff(tc.want, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
