// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestBudget checks that the total size of kept objects is bounded for any number of records. Over the limit, the
// records with the highest ratio of unpacked to packed size lose their objects. The order of the records does not
// matter.
func TestBudget(t *testing.T) {
	const limit, bombs, plain = 100 << 10, 50, 10
	records := func() []*Record {
		var out []*Record
		add := func(name string, packed, unpacked int) {
			r := &Record{packed: packed}
			r.Name, r.BundleID, r.Status = release.Name{Namespace: "web", Name: name, Revision: 1}, name,
				release.StatusDeployed
			r.Objects = []release.Object{{Raw: make([]byte, unpacked)}}
			r.Hooks = []release.Hook{{Kind: "Job", Name: name}}
			out = append(out, r)
		}
		for i := range bombs {
			add(fmt.Sprintf("bomb-%02d", i), 100, 8<<10+i)
		}
		for i := range plain {
			add(fmt.Sprintf("plain-%02d", i), 1<<10, 4<<10)
		}
		return out
	}
	whole := func(order []*Record) (names, dropped []string) {
		c := Cluster{budget: budget{limit: limit}}
		for _, r := range order {
			c.AddRecord(r)
			if c.budget.kept > limit {
				t.Errorf("%d bytes are kept, want at most %d", c.budget.kept, limit)
			}
		}
		for _, r := range c.Records {
			switch {
			case r.OverBound == "":
				names = append(names, r.Name.Name)
			case r.Objects != nil || r.Hooks != nil:
				t.Errorf("%s: %d objects and %d hooks are kept", r.Name.Name, len(r.Objects), len(r.Hooks))
			case r.OverBound != errKept.Error() || r.ManifestError == nil || r.Damaged != "":
				t.Errorf("%s: over bound %q, manifest error %v, damaged %q", r.Name.Name, r.OverBound, r.ManifestError,
					r.Damaged)
			default:
				dropped = append(dropped, r.Name.Name)
			}
		}
		slices.Sort(names)
		slices.Sort(dropped)
		return names, dropped
	}
	forward, dropped := whole(records())
	reversed := records()
	slices.Reverse(reversed)
	backward, alsoDropped := whole(reversed)
	if diff := cmp.Diff(forward, backward) + cmp.Diff(dropped, alsoDropped); diff != "" {
		t.Errorf("the kept records depend on the order (-forward +reversed):\n%s", diff)
	}
	if len(forward)+len(dropped) != bombs+plain || len(forward) <= plain || len(dropped) == 0 {
		t.Errorf("%d are kept and %d dropped of %d", len(forward), len(dropped), bombs+plain)
	}
	for i := range plain {
		if name := fmt.Sprintf("plain-%02d", i); !slices.Contains(forward, name) {
			t.Errorf("%s lost its objects", name)
		}
	}
}
