// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// waiting is how many Events may wait for being recorded. They are rare; more are dropped, and counted.
const waiting = 64

// recorder records Events off the path of the requests that they tell of. It is asked for none of a dry run, which has no effects.
type recorder struct {
	to      events.EventRecorder
	metrics *Collector
	queue   chan event
}

type event struct {
	about           corev1.ObjectReference
	reason, message string
}

var _ admission.Events = (*recorder)(nil)

func newRecorder(to events.EventRecorder, m *Collector) *recorder {
	return &recorder{to: to, metrics: m, queue: make(chan event, waiting)}
}

// RateLimited implements admission.Events.
func (r *recorder) RateLimited(o admission.Object, message string) {
	r.metrics.CountRateLimited()
	about := corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID)}
	select {
	case r.queue <- event{about, "StampingPaused", message}:
	default:
		r.metrics.Dropped()
	}
}

// NeedLeaderElection is false: every replica answers requests.
func (*recorder) NeedLeaderElection() bool { return false }

// Start records until the context ends.
func (r *recorder) Start(ctx context.Context) error {
	for {
		select {
		case e := <-r.queue:
			r.to.Eventf(&e.about, nil, corev1.EventTypeWarning, e.reason, "Stamp", "%s", e.message)
		case <-ctx.Done():
			return nil
		}
	}
}
