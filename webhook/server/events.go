// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// maxQueuedEvents bounds the Events that wait to be recorded. They are rare; further Events are dropped and counted.
const maxQueuedEvents = 64

// eventRecorder records Events without a delay of the requests that cause them.
type eventRecorder struct {
	to      events.EventRecorder
	metrics *Collector
	queue   chan event
}

type event struct {
	about   corev1.ObjectReference
	message string
}

func newEventRecorder(to events.EventRecorder, m *Collector) *eventRecorder {
	return &eventRecorder{to: to, metrics: m, queue: make(chan event, maxQueuedEvents)}
}

// RateLimited implements admission.Events.
func (r *eventRecorder) RateLimited(about corev1.ObjectReference, message string) {
	r.metrics.limited.Inc()
	select {
	case r.queue <- event{about, message}:
	default:
		r.metrics.dropped.Inc()
	}
}

// Start records Events until the context ends.
func (r *eventRecorder) Start(ctx context.Context) error {
	for {
		select {
		case e := <-r.queue:
			r.to.Eventf(&e.about, nil, corev1.EventTypeWarning, "StampingPaused", "Stamp", "%s", e.message)
		case <-ctx.Done():
			return nil
		}
	}
}
