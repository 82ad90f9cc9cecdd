// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// TestMappingsForbidden checks that no deployment in another namespace than its bundle is called absent or left over,
// and that a gap says why, if BundleNamespaceMappings may not be read. Deployments in the namespace of the bundle do
// not depend on them.
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
			[]string{"FD302 near team/one", "FD302 near-two team/two", "listing Namespace objects",
				"listing the namespaces of clusters"}},
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

// system is a cluster with the Namespace kube-system.
type system struct{ faulty }

func (s system) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if q.Kind.Kind == "Namespace" && q.LabelSelector == "" {
		item := object.Item{Raw: []byte(`{"metadata":{"name":"kube-system","uid":"u1"}}`)}
		if err := yield(source.Object{Item: item, Kind: q.Kind}); err != nil {
			return source.Coverage{}, err
		}
	}
	return s.faulty.List(ctx, q, yield)
}

// TestClusterUID checks that a report has the uid of the cluster if the Namespaces are read, and that they are not read
// for it.
func TestClusterUID(t *testing.T) {
	for name, want := range map[string]string{"targets-mapped": "u1", "ready": ""} {
		src := system{faulty{Source: readCase(t, casesDir+"/"+name+".yaml").open(t)}}
		got, err := reportOf(audit.Run(t.Context(), src, audit.Options{Commands: cases.Commands, Pause: noPause}))
		if err != nil {
			t.Fatal(err)
		}
		if got.Source.ClusterUID != want {
			t.Errorf("%s: uid %q, want %q", name, got.Source.ClusterUID, want)
		}
	}
}
