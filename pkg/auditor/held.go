// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/settle"
)

// held are the findings that may show a moment between two writes. An audit waits, and asks again whether what they
// depend on is as it was. The auditor does not wait: it keeps such a finding back for as long.
type held struct {
	pause time.Duration // how long a finding is held for each pause that it asks for
	found map[identity]heldFinding
}

type identity struct {
	code                              string
	object                            object.Ref
	cluster, bundleDeployment, aspect string
}

type heldFinding struct {
	since     time.Time
	questions []settle.Question
}

// filter returns the findings that are certain now, and the time at which the next one becomes certain; zero if none
// is held.
func (h *held) filter(findings []check.Finding, now time.Time) (certain []check.Finding, next time.Time) {
	before := h.found
	h.found = map[identity]heldFinding{}
	for _, f := range findings {
		if f.Pauses == 0 {
			certain = append(certain, f)
			continue
		}
		id := identity{f.Code, f.Object, f.Cluster, f.BundleDeployment, f.Aspect}
		x := heldFinding{now, f.Settle}
		if old, known := before[id]; known && slices.Equal(old.questions, f.Settle) {
			x.since = old.since
		}
		h.found[id] = x
		until := x.since.Add(time.Duration(f.Pauses) * h.pause)
		switch {
		case !now.Before(until):
			certain = append(certain, f)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return certain, next
}
