// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// MaxListed is the number of entries at which Fleet truncates the lists of a status.
const MaxListed = 10

// CountObjects returns the counts that an agent computes from its lists before it truncates them. live are the live
// objects that it owns (docs/fleet-behavior.md, 4.2).
func CountObjects(live []v1alpha1.ObjectKey, modified []v1alpha1.ModifiedStatus,
	notReady []v1alpha1.NonReadyStatus) v1alpha1.ResourceCounts {
	rest, missing := map[v1alpha1.ObjectKey]bool{}, map[v1alpha1.ObjectKey]bool{}
	for _, k := range live {
		rest[k] = true
	}
	out := v1alpha1.ResourceCounts{DesiredReady: len(rest)}
	for i := range modified {
		switch m := &modified[i]; {
		case m.Missing:
			out.Missing++
			if !rest[m.Key()] {
				missing[m.Key()] = true
			}
		case m.Delete:
			out.Orphaned++
		default:
			out.Modified++
		}
	}
	out.DesiredReady += len(missing)
	for i := range modified {
		delete(rest, modified[i].Key())
	}
	for _, n := range notReady {
		if k := n.Key(); rest[k] {
			delete(rest, k)
			out.NotReady++
		}
	}
	out.Ready = len(rest)
	return out
}

// ReportedCounts returns the counts in the status of a BundleDeployment. Agents before 0.12 report lists only; known is
// false if these may be truncated.
func ReportedCounts(s *v1alpha1.BundleDeploymentStatus) (counts v1alpha1.ResourceCounts, known bool) {
	if kept := cmp.Or(s.ResourceCounts, s.ListedCounts); kept != nil {
		return *kept, true
	}
	var live []v1alpha1.ObjectKey
	truncated := len(s.ModifiedStatus) >= MaxListed || len(s.NonReadyStatus) >= MaxListed
	if truncated || s.IncompleteState || len(s.Resources) == 0 {
		return v1alpha1.ResourceCounts{}, false
	}
	if object.Into(s.Resources, &live) != nil {
		return v1alpha1.ResourceCounts{}, false
	}
	return CountObjects(live, s.ModifiedStatus, s.NonReadyStatus), true
}

// Trim replaces the list of resources in a status by the counts that follow from it. A management cluster can list
// millions of resources.
func Trim(s *v1alpha1.BundleDeploymentStatus) {
	if counts, known := ReportedCounts(s); known && s.ResourceCounts == nil {
		s.ListedCounts = &counts
	}
	s.Resources = nil
}
