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
