// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// eventRecorder counts and records Events. A recorder of client-go does not block: it drops Events while a thousand
// wait.
type eventRecorder struct {
	to      events.EventRecorder
	limited prometheus.Counter
}

// RateLimited implements admission.Events.
func (r eventRecorder) RateLimited(about corev1.ObjectReference, message string) {
	r.limited.Inc()
	r.to.Eventf(&about, nil, corev1.EventTypeWarning, "StampingPaused", "Stamp", "%s", message)
}
