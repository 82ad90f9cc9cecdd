// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// keys returns n keys of a kind.
func keys(kind string, n int) []v1alpha1.ObjectKey {
	var out []v1alpha1.ObjectKey
	for i := range n {
		out = append(out, v1alpha1.ObjectKey{APIVersion: "v1", Kind: kind, Namespace: "web", Name: fmt.Sprint(i)})
	}
	return out
}

func modifiedOf(all []v1alpha1.ObjectKey, set func(*v1alpha1.ModifiedStatus)) []v1alpha1.ModifiedStatus {
	var out []v1alpha1.ModifiedStatus
	for _, k := range all {
		m := v1alpha1.ModifiedStatus{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
		set(&m)
		out = append(out, m)
	}
	return out
}

func notReadyOf(all []v1alpha1.ObjectKey) []v1alpha1.NonReadyStatus {
	var out []v1alpha1.NonReadyStatus
	for _, k := range all {
		out = append(out, v1alpha1.NonReadyStatus{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace,
			Name: k.Name})
	}
	return out
}

func isMissing(m *v1alpha1.ModifiedStatus) { m.Missing = true }
func isUnowned(m *v1alpha1.ModifiedStatus) { m.Missing, m.Exist = true, true }
func isDeleted(m *v1alpha1.ModifiedStatus) { m.Delete = true }
func isPatched(m *v1alpha1.ModifiedStatus) { m.Patch = `{"data":{"a":"1"}}` }

// TestCountObjects has the examples of docs/fleet-behavior.md, 4.2.
func TestCountObjects(t *testing.T) {
	cm, secret, pod := keys("ConfigMap", 1), keys("Secret", 1), keys("Pod", 1)
	for _, tc := range []struct {
		name     string
		live     []v1alpha1.ObjectKey
		modified []v1alpha1.ModifiedStatus
		notReady []v1alpha1.NonReadyStatus
		want     v1alpha1.ResourceCounts
	}{
		{name: "never deployed"},
		{name: "ready", live: append(keys("ConfigMap", 1), secret...), want: v1alpha1.ResourceCounts{DesiredReady: 2,
			Ready: 2}},
		{name: "orphaned", live: cm, modified: modifiedOf(secret, isDeleted),
			want: v1alpha1.ResourceCounts{DesiredReady: 1, Ready: 1, Orphaned: 1}},
		{name: "missing", modified: modifiedOf(cm, isMissing), want: v1alpha1.ResourceCounts{DesiredReady: 1,
			Missing: 1}},
		{name: "unowned", modified: modifiedOf(cm, isUnowned), want: v1alpha1.ResourceCounts{DesiredReady: 1,
			Missing: 1}},
		{name: "missing and also live", live: cm, modified: modifiedOf(cm, isUnowned),
			want: v1alpha1.ResourceCounts{DesiredReady: 1, Missing: 1}},
		{name: "modified", live: cm, modified: modifiedOf(cm, isPatched), want: v1alpha1.ResourceCounts{DesiredReady: 1,
			Modified: 1}},
		{name: "missing and not ready", live: pod, modified: modifiedOf(cm, isMissing), notReady: notReadyOf(pod),
			want: v1alpha1.ResourceCounts{DesiredReady: 2, Missing: 1, NotReady: 1}},
		{name: "twelve of each", live: keys("Pod", 12), modified: modifiedOf(keys("ConfigMap", 12), isMissing),
			notReady: notReadyOf(keys("Pod", 12)),
			want:     v1alpha1.ResourceCounts{DesiredReady: 24, Missing: 12, NotReady: 12}},
		{name: "modified and not ready", live: cm, modified: modifiedOf(cm, isPatched), notReady: notReadyOf(cm),
			want: v1alpha1.ResourceCounts{DesiredReady: 1, Modified: 1}},
		{name: "eleven modified", live: keys("ConfigMap", 12), modified: modifiedOf(keys("ConfigMap", 11), isPatched),
			want: v1alpha1.ResourceCounts{DesiredReady: 12, Ready: 1, Modified: 11}},
	} {
		if diff := cmp.Diff(tc.want, CountObjects(tc.live, tc.modified, tc.notReady)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestCountsAddUp checks that the states of random objects without duplicates add up to the desired objects.
func TestCountsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var live []v1alpha1.ObjectKey
		var modified []v1alpha1.ModifiedStatus
		var notReady []v1alpha1.NonReadyStatus
		for _, k := range keys("ConfigMap", r.IntN(30)) {
			one := []v1alpha1.ObjectKey{k}
			switch r.IntN(4) {
			case 0:
				modified = append(modified, modifiedOf(one, isMissing)...)
				continue
			case 1:
				modified = append(modified, modifiedOf(one, isPatched)...)
			case 2:
				modified = append(modified, modifiedOf(one, isDeleted)...)
				continue
			}
			live = append(live, k)
			if r.IntN(2) == 0 {
				notReady = append(notReady, notReadyOf(one)...)
			}
		}
		if c := CountObjects(live, modified, notReady); c.DesiredReady != c.Ready+c.NotReady+c.Modified+c.Missing {
			t.Fatalf("%+v does not add up", c)
		}
	}
}

// TestReportedCounts checks which lists are complete. Agents before 0.12 report no counts, and lists of ten can be
// truncated.
func TestReportedCounts(t *testing.T) {
	resources, err := json.Marshal(keys("ConfigMap", 12))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		resource []byte
		modified int
		counts   *v1alpha1.ResourceCounts
		sticky   bool
		want     v1alpha1.ResourceCounts
		known    bool
	}{
		{name: "counts", counts: &v1alpha1.ResourceCounts{DesiredReady: 7, Ready: 7}, sticky: true, modified: 10,
			want: v1alpha1.ResourceCounts{DesiredReady: 7, Ready: 7}, known: true},
		{name: "nine in 0.11", resource: resources, modified: 9, want: v1alpha1.ResourceCounts{DesiredReady: 12,
			Ready: 3, Modified: 9}, known: true},
		{name: "exactly ten in 0.11", resource: resources, modified: 10},
		{name: "no list"},
		{name: "a damaged list", resource: []byte(`{`)},
		{name: "incomplete", resource: resources, sticky: true},
	} {
		s := &v1alpha1.BundleDeploymentStatus{Resources: tc.resource, ResourceCounts: tc.counts,
			IncompleteState: tc.sticky,
			ModifiedStatus:  modifiedOf(keys("ConfigMap", tc.modified), isPatched)}
		trimmed := *s
		Trim(&trimmed)
		if got, known := ReportedCounts(&trimmed); got != tc.want || known != tc.known || trimmed.Resources != nil {
			t.Errorf("%s, trimmed: %+v, known %v", tc.name, got, known)
		}
		if got, known := ReportedCounts(s); got != tc.want || known != tc.known {
			t.Errorf("%s: %+v, known %v; want %+v, %v", tc.name, got, known, tc.want, tc.known)
		}
	}
}
