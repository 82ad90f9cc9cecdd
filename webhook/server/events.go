// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// maxQueuedEvents bounds the Events that wait to be recorded. They are rare; more are dropped and counted.
const maxQueuedEvents = 64

// eventRecorder records Events without delaying the requests that cause them.
type eventRecorder struct {
	to      events.EventRecorder
	metrics *Collector
	queue   chan event
}

type event struct {
	about           corev1.ObjectReference
	reason, message string
}

var _ admission.Events = (*eventRecorder)(nil)

func newEventRecorder(to events.EventRecorder, m *Collector) *eventRecorder {
	return &eventRecorder{to: to, metrics: m, queue: make(chan event, maxQueuedEvents)}
}

// RateLimited implements admission.Events.
func (r *eventRecorder) RateLimited(o admission.Object, message string) {
	r.metrics.CountRateLimited()
	about := corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID)}
	select {
	case r.queue <- event{about, "StampingPaused", message}:
	default:
		r.metrics.Dropped()
	}
}

// NeedLeaderElection is false: every replica answers requests.
func (*eventRecorder) NeedLeaderElection() bool { return false }

// Start records Events until the context ends.
func (r *eventRecorder) Start(ctx context.Context) error {
	for {
		select {
		case e := <-r.queue:
			r.to.Eventf(&e.about, nil, corev1.EventTypeWarning, e.reason, "Stamp", "%s", e.message)
		case <-ctx.Done():
			return nil
		}
	}
}
