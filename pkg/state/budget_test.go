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

// TestWork checks that the parsed size of dense records is bounded, and that the result does not depend on their order.
// Other records keep their objects. A record that unpacks to more than the maximum for its size is not decoded.
func TestWork(t *testing.T) {
	const each, limit, bombs, plain, identity = 100 << 10, 1 << 20, 40, 40,
		`{"name":%q,"namespace":"web","version":1,"info":{"status":"deployed"},` +
			`"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":%[1]q}}},"manifest":"apiVersion: ` +
			`v1\nkind: ConfigMap\nmetadata: {name: a}\n"}`
	for _, tc := range []struct {
		bombs, parsed, dropped int
	}{
		{limit / each, limit / each, 0},
		{bombs, limit / each, bombs},
	} {
		for _, reverse := range []bool{false, true} {
			work, c, parsed := Work{limit: limit}, Cluster{budget: budget{maxDense: limit}}, 0
			read := func(name string, unpacked int) {
				value := []byte(encode(fmt.Sprintf(identity, name)))
				r := work.ReadRecord(release.Name{Namespace: "web", Name: name, Revision: 1}, value, unpacked)
				parsed += len(r.Objects)
				c.AddRecord(r)
			}
			for i := range max(tc.bombs, plain) {
				if reverse {
					i = max(tc.bombs, plain) - 1 - i
				}
				if i < tc.bombs {
					read(fmt.Sprintf("bomb-%02d", i), each)
				}
				if i < plain {
					read(fmt.Sprintf("plain-%02d", i), 2<<10)
				}
			}
			kept, dropped := 0, 0
			for name, r := range c.Records {
				if r.BundleID != name.Name || r.Damaged != "" {
					continue
				}
				switch {
				case len(r.Objects) == 1 && r.OverBound == "":
					kept++
				case len(r.Objects) == 0 && r.OverBound == errDense.Error():
					dropped++
				}
			}
			got := []int{parsed, kept, dropped}
			want := []int{tc.parsed + plain, plain + tc.bombs - tc.dropped, tc.dropped}
			if !slices.Equal(got, want) {
				t.Errorf("%d bombs, reversed %v: records parsed, kept and dropped %v, want %v",
					tc.bombs, reverse, got, want)
			}
			if c.budget.kept == 0 || len(c.budget.order) != kept {
				t.Errorf("%d bombs, reversed %v: the budget has %d records, want %d", tc.bombs, reverse,
					len(c.budget.order), kept)
			}
		}
	}
	value := []byte(encode(fmt.Sprintf(identity, "a")))
	d := new(Work).ReadRecord(release.Name{Namespace: "web", Name: "a", Revision: 1}, value,
		release.MostUnpacked(len(value))+1)
	if d.OverBound != release.ErrUnpacked.Error() || d.Damaged == "" || len(d.Objects) > 0 {
		t.Errorf("a record over the maximum size: over bound %q, damaged %q", d.OverBound, d.Damaged)
	}
}
