// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestBudget holds that what is kept of all records is bounded however many there are, that those lose their objects that unpack to the most
// for their size, and that it is the same ones in whatever order they come.
func TestBudget(t *testing.T) {
	const limit, bombs, plain = 100 << 10, 50, 10
	records := func() []*DecodedRecord {
		var out []*DecodedRecord
		add := func(name string, packed, unpacked int) {
			r := &record{packed: packed}
			r.Name, r.BundleID, r.Status = release.Name{Namespace: "web", Name: name, Revision: 1}, name, release.StatusDeployed
			r.objects = []release.Object{{Raw: make([]byte, unpacked)}}
			r.Hooks = []release.Hook{{Kind: "Job", Name: name}}
			out = append(out, &DecodedRecord{r})
		}
		for i := range bombs {
			add(fmt.Sprintf("bomb-%02d", i), 100, 8<<10+i)
		}
		for i := range plain {
			add(fmt.Sprintf("plain-%02d", i), 1<<10, 4<<10)
		}
		return out
	}
	whole := func(order []*DecodedRecord) (names, dropped []string) {
		b := Builder{budget: budget{limit: limit}}
		for _, d := range order {
			b.AddRecord(d)
			if b.budget.kept > limit {
				t.Errorf("%d bytes are kept, want at most %d", b.budget.kept, limit)
			}
		}
		inv := b.Build(Reading{Namespaced: func(schema.GroupVersionKind) bool { return true }, Records: func(string) (Problem, string) { return "", "" },
			BundleDeployments: func(string) bool { return true }})
		for _, r := range inv.OverBound {
			dropped = append(dropped, r.Name.Name)
		}
		for _, d := range inv.Deployments {
			if d.Problem == "" {
				names = append(names, d.Name)
				continue
			}
			if d.Problem != RecordUnreadable || d.Detail != errKept.Error() || len(d.Trouble) > 0 {
				t.Errorf("%s: problem %s, %q, trouble %v", d.Name, d.Problem, d.Detail, d.Trouble)
			}
		}
		return names, dropped
	}
	forward, dropped := whole(records())
	reversed := records()
	slices.Reverse(reversed)
	backward, alsoDropped := whole(reversed)
	if diff := cmp.Diff(forward, backward) + cmp.Diff(dropped, alsoDropped); diff != "" {
		t.Errorf("another order keeps others (-forward +backward):\n%s", diff)
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

// TestWork holds that what is parsed of dense records is bounded, that the outcome is the same in whatever order they come, that it costs no
// other record its objects, and that a record which unpacks to too much for its size is not even decoded.
func TestWork(t *testing.T) {
	const each, limit, bombs, plain, identity = 100 << 10, 1 << 20, 40, 40, `{"name":%q,"namespace":"web","version":1,"info":{"status":"deployed"},` +
		`"chart":{"metadata":{"annotations":{"fleet.cattle.io/bundle-id":%[1]q}}},"manifest":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}`
	for _, tc := range []struct {
		bombs, parsed, dropped int
	}{
		{limit / each, limit / each, 0},
		{bombs, limit / each, bombs},
	} {
		for _, reverse := range []bool{false, true} {
			work, b, parsed := Work{limit: limit}, Builder{budget: budget{maxDense: limit}}, 0
			read := func(name string, unpacked int) {
				value := []byte(encode(fmt.Sprintf(identity, name)))
				d := work.ReadRecord(release.Name{Namespace: "web", Name: name, Revision: 1}, value, unpacked, true)
				parsed += len(d.r.objects)
				b.AddRecord(d)
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
			for name, r := range b.records {
				switch {
				case len(r.objects) == 1 && r.OverBound == "":
					kept++
				case len(r.objects) == 0 && r.OverBound == errDense.Error() && r.BundleID == name.Name && r.Damaged == "":
					dropped++
				}
			}
			if parsed != tc.parsed+plain || dropped != tc.dropped || kept != plain+tc.bombs-tc.dropped || b.budget.kept == 0 || len(b.budget.order) != kept {
				t.Errorf("%d bombs, reversed %v: %d records parsed, %d kept, %d dropped; the budget has %d", tc.bombs, reverse, parsed, kept, dropped, len(b.budget.order))
			}
		}
	}
	value := []byte(encode(fmt.Sprintf(identity, "a")))
	d := new(Work).ReadRecord(release.Name{Namespace: "web", Name: "a", Revision: 1}, value, release.MostUnpacked(len(value))+1, true)
	if d.r.OverBound != errUnpacked.Error() || d.r.Damaged == "" || len(d.r.objects) > 0 {
		t.Errorf("a record beyond the size: over bound %q, damaged %q", d.r.OverBound, d.r.Damaged)
	}
}
