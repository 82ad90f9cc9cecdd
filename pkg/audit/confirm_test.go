// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// changing simulates a cluster that changes between the two readings of Fleet's objects. The second one reads only
// metadata.
type changing struct {
	faulty
	again func(kind string, raw string) (string, bool) // false if the object is gone
	fails string                                       // the kind that cannot be read again
}

func (c changing) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	if !q.MetadataOnly {
		return c.faulty.List(ctx, q, yield)
	}
	if q.Kind.Kind == c.fails {
		return source.NotCovered(source.Failure{Reason: source.ReadFailed}), nil
	}
	return c.faulty.List(ctx, q, func(o source.Object) error {
		raw, exists := c.again(q.Kind.Kind, string(o.Raw))
		if !exists {
			return nil
		}
		o.Raw = []byte(raw)
		return yield(o)
	})
}

// TestConfirm checks that a finding about targets is reported only if the objects on which it depends did not change
// while they were read.
func TestConfirm(t *testing.T) {
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/targets"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := func(_, raw string) (string, bool) { return raw, true }
	replace := func(kind, old, now string) func(string, string) (string, bool) {
		return func(k, raw string) (string, bool) {
			if k == kind {
				raw = strings.ReplaceAll(raw, old, now)
			}
			return raw, true
		}
	}
	all := []string{"FD301 shop-eu fleet-default/c3", "FD302 shop fleet-default/c2", "FD302 shop-eu fleet-default/c2"}
	for name, tc := range map[string]struct {
		source changing
		want   []string
	}{
		"nothing changed": {changing{again: same}, all},
		"a BundleDeployment was created": {changing{again: func(kind, raw string) (string, bool) {
			if kind == "BundleDeployment" && !strings.Contains(raw, `"shop-eu"`) {
				raw = strings.ReplaceAll(raw, "cluster-c3", "cluster-c2")
			}
			return raw, true
		}}, []string{all[0], all[2]}},
		"a BundleDeployment was deleted": {changing{again: func(kind, raw string) (string, bool) {
			return raw, kind != "BundleDeployment" || !strings.Contains(raw, `"shop-eu"`)
		}}, all[1:]},
		"a Bundle was edited": {changing{again: replace("Bundle", `"generation":2`, `"generation":3`)},
			nil},
		"the label of a cluster was changed": {changing{again: replace("Cluster", `"region":"eu"`, `"region":"us"`)},
			all[1:]},
		"the second reading fails": {changing{again: same, fails: "Cluster"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.source.faulty = faulty{Source: s}
			result, err := audit.Run(t.Context(), tc.source, audit.Options{StatusOnly: true, Pause: noPause})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range result.Findings {
				if strings.HasPrefix(f.Code, "FD3") {
					got = append(got, f.Code+" "+f.Object.Name+" "+f.Cluster)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
