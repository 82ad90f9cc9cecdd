// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// vanishing is a cluster on which a namespace is deleted after it was listed.
type vanishing struct {
	faulty
	namespace string
	lists     atomic.Int32
}

func (v *vanishing) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage,
	error) {
	again := false
	if q.Kind.Kind == "Namespace" && len(v.namespace) > 0 {
		again = v.lists.Add(1) > 1
	}
	return v.faulty.List(ctx, q, func(o source.Object) error {
		if again && strings.Contains(string(o.Raw), `"name":"`+v.namespace+`"`) {
			return nil
		}
		return yield(o)
	})
}

// TestOrphanedNamespaces checks the namespaces of clusters that are gone on a live cluster, where not everything may be
// read.
func TestOrphanedNamespaces(t *testing.T) {
	both := []string{"cluster-empty", "cluster-removed"}
	for _, tc := range []struct {
		name string
		src  *vanishing
		want []string
		gap  bool
	}{
		{"all is read", &vanishing{}, both, false},
		{"a namespace is deleted in the meantime", &vanishing{namespace: "cluster-empty"}, both[1:], false},
		{"Namespaces are forbidden",
			&vanishing{faulty: faulty{lists: map[string]source.Coverage{"Namespace": forbidden}}}, nil, true},
		{"Clusters are forbidden", &vanishing{faulty: faulty{lists: map[string]source.Coverage{"Cluster": forbidden}}},
			nil, false},
	} {
		tc.src.Source = readCase(t, casesDir+"/targets-orphan.yaml").open(t)
		result, err := audit.Run(t.Context(), tc.src, audit.Options{Pause: noPause})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range result.Findings {
			if f.Code == "FD303" && f.Object.Kind == "Namespace" {
				got = append(got, f.Object.Name)
			}
		}
		slices.Sort(got)
		gap := slices.ContainsFunc(result.Gaps, func(g source.Gap) bool {
			return g.What == "listing the namespaces of clusters"
		})
		if diff := cmp.Diff(tc.want, got); diff != "" || gap != tc.gap {
			t.Errorf("%s: gap %v, want %v; namespaces (-want +got):\n%s", tc.name, gap, tc.gap, diff)
		}
	}
}
