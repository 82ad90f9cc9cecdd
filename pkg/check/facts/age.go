// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
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
func (f *Facts) LongAgo(t time.Time) bool {
	return !t.IsZero() && !f.Now().IsZero() && f.Now().Sub(t) > Settled
}

// Young reports whether an object was created so recently that the controller may not have acted on it yet.
func (f *Facts) Young(o v1alpha1.Object) bool {
	return f.NewerThan(o, Settling)
}

// NewerThan reports whether an object was created more recently than an age.
func (f *Facts) NewerThan(o v1alpha1.Object, age time.Duration) bool {
	created := o.GetCreationTimestamp()
	return !created.IsZero() && f.Now().Sub(created.Time) < age
}

// live reports whether the objects of a cluster are those of a live one.
func (f *Facts) live(c *directory.Cluster) bool {
	for _, other := range f.Clusters {
		if other.On == c {
			return other.Source.Live()
		}
	}
	return f.Source.Live()
}

// ReadAt returns the time for which the objects of a cluster and those of the management cluster are known: the earlier
// one of two captures.
func (f *Facts) ReadAt(c *directory.Cluster) time.Time {
	for _, other := range f.Clusters {
		if at := other.Source.TakenAt; other.On == c && !at.IsZero() && at.Before(f.Now()) {
			return at
		}
	}
	return f.Now()
}
