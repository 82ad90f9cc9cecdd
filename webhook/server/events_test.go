// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// TestRecorder checks that further Events are dropped while the queue is full.
func TestRecorder(t *testing.T) {
	collector := NewCollector(sources(time.Time{}, time.Time{}, time.Time{}))
	to := events.NewFakeRecorder(maxQueuedEvents)
	r := newEventRecorder(to, collector)
	for i := range maxQueuedEvents + 3 {
		r.RateLimited(corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "settings"},
			fmt.Sprintf("100%% %d", i))
	}
	registry, got := prometheus.NewRegistry(), map[string]float64{}
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if c := f.GetMetric()[0].GetCounter(); c.GetValue() > 0 {
			got[f.GetName()] = c.GetValue()
		}
	}
	want := map[string]float64{"fleetdoctor_webhook_brakes_total": maxQueuedEvents + 3,
		"fleetdoctor_webhook_events_dropped_total":              3,
		"fleetdoctor_webhook_certificate_reload_failures_total": 4} // the last one is of sources
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	for i := range maxQueuedEvents {
		if got, want := <-to.Events, fmt.Sprintf("Warning StampingPaused 100%% %d", i); got != want {
			t.Fatalf("got event %q, want %q", got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
