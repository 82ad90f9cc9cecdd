// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	// Settled is the time after which a difference is no lag: many times the delays of seconds that Fleet has
	// (docs/fleet-behavior.md, 4.4).
	Settled = 5 * time.Minute
)

// Settling is the time in which the controller may not yet have created or deleted what belongs to a new object. It is
// short, because the status of a Bundle shows what the controller has processed.
const Settling = 5 * time.Second

// LongAgo reports whether a known time is so long before the data was read that nothing can still be on its way.
func (f *Facts) LongAgo(t time.Time) bool { return f.Passed(t, Settled) }

// Passed reports whether more than a duration has passed between a known time and the time when the data was read.
func (f *Facts) Passed(t time.Time, d time.Duration) bool {
	return !t.IsZero() && !f.Result.Now().IsZero() && f.Result.Now().Sub(t) > d
}

// Young reports whether an object was created so recently that the controller may not have acted on it yet.
func (f *Facts) Young(o v1alpha1.Object) bool {
	return f.NewerThan(o, Settling)
}

// NewerThan reports whether an object was created more recently than an age.
func (f *Facts) NewerThan(o v1alpha1.Object, age time.Duration) bool {
	created := o.GetCreationTimestamp()
	return !created.IsZero() && f.Result.Now().Sub(created.Time) < age
}

// sourceOf returns the source of the objects of a cluster.
func (f *Facts) sourceOf(c object.ClusterID) evaluate.ClusterSource {
	for _, other := range f.Result.Clusters {
		if other.ClusterID == c {
			return other
		}
	}
	return evaluate.ClusterSource{Source: f.Result.Source}
}

// ReadAt returns the time for which the objects of a cluster and those of the management cluster are known: the earlier
// one of two captures.
func (f *Facts) ReadAt(c object.ClusterID) time.Time {
	if at := f.sourceOf(c).Source.TakenAt; !at.IsZero() && at.Before(f.Result.Now()) {
		return at
	}
	return f.Result.Now()
}
