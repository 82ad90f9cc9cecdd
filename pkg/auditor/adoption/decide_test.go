// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// itemsOf returns n objects to adopt of a bundle deployment.
func itemsOf(bundleDeployment string, n int) []adopt.Item {
	var out []adopt.Item
	for i := range n {
		name := fmt.Sprintf("%s-%d", bundleDeployment, i)
		out = append(out, adopt.Item{After: ownership.Metadata{Hash: "a"}, AdoptedObject: report.AdoptedObject{
			Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: name}, UID: name,
			BundleDeployment: bundleDeployment, Action: report.ActionAdopt}})
	}
	return out
}

func count(items []adopt.Item, a report.Action) int {
	n := 0
	for _, i := range items {
		if i.Action == a {
			n++
		}
	}
	return n
}

// TestTenth checks how many objects of a bundle deployment are adopted in an hour.
func TestTenth(t *testing.T) {
	for _, tc := range []struct {
		size, before, now int
		again             bool // the objects are those that were adopted before
		want              int
	}{
		{size: 100, now: 10, want: 10},
		{size: 100, now: 11, want: 0},
		{size: 100, before: 9, now: 1, want: 1},
		{size: 100, before: 10, now: 1, want: 0},
		{size: 100, before: 10, now: 3, again: true, want: 3},
		{size: 5, now: 1, want: 1},
		{size: 5, now: 2, want: 0},
		{size: 19, now: 2, want: 0},
	} {
		d := decision{past: past{lastHour: map[identity]int{}}, sizes: map[string]int{"b": tc.size},
			stopped: map[string]bool{}}
		items := itemsOf("b", tc.now)
		for i := range tc.before {
			uid := fmt.Sprintf("before-%d", i)
			if tc.again {
				uid = fmt.Sprintf("b-%d", i)
			}
			d.lastHour[identity{uid, "b"}] = 1
		}
		d.limit(items)
		if got := count(items, report.ActionAdopt); got != tc.want || d.stopped["b"] == (tc.want > 0) {
			t.Errorf("%+v: %d adopted, stopped %v", tc, got, d.stopped)
		}
	}
}

// TestStopped checks that nothing more of a stopped bundle deployment is adopted, although the hour is over, and that
// others are not concerned.
func TestStopped(t *testing.T) {
	d := decision{past: past{lastHour: map[identity]int{}}, sizes: map[string]int{"b": 100, "c": 100},
		stopped: map[string]bool{"b": true}}
	items := append(itemsOf("b", 1), itemsOf("c", 1)...)
	d.limit(items)
	if items[0].Action != report.ActionRefuse || items[1].Action != report.ActionAdopt {
		t.Errorf("actions %s and %s", items[0].Action, items[1].Action)
	}
}

// TestBudget checks that objects beyond the budget of a minute wait.
func TestBudget(t *testing.T) {
	d := decision{past: past{lastMinute: 40}, sizes: map[string]int{"b": 1000}, stopped: map[string]bool{}}
	items := itemsOf("b", 50)
	d.limit(items)
	if n, waiting := count(items, report.ActionAdopt), count(items, report.ActionNone); n != 20 || waiting != 30 {
		t.Errorf("%d adopted, %d wait", n, waiting)
	}
}

// TestReceiptSize checks that a receipt is not too large: the other objects wait, and one that is too large alone is
// refused.
func TestReceiptSize(t *testing.T) {
	items := itemsOf("b", 4)
	for i := range items {
		items[i].Before.SetID = strings.Repeat("x", 200<<10)
	}
	text, err := fitting(adopt.Header{}, items)
	if n := count(items, report.ActionAdopt); err != nil || len(text) > maxBytes || n != 2 {
		t.Errorf("%d objects in %d bytes: %v", n, len(text), err)
	}
	items = itemsOf("b", 1)
	items[0].Before.SetID = strings.Repeat("x", maxBytes)
	text, err = fitting(adopt.Header{}, items)
	if err != nil || text != nil || items[0].Action != report.ActionRefuse {
		t.Errorf("%d bytes, action %s: %v", len(text), items[0].Action, err)
	}
}
