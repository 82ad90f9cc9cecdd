// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

// TestRecorder checks the text of an Event, and that it is counted.
func TestRecorder(t *testing.T) {
	collector := NewCollector(sources(time.Time{}, time.Time{}, time.Time{}))
	to := events.NewFakeRecorder(1)
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "settings"}
	eventRecorder{to, collector.limited}.RateLimited(about, "100% of its stamps")
	if got, want := <-to.Events, "Warning StampingPaused 100% of its stamps"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
	var m dto.Metric
	if err := collector.limited.Write(&m); err != nil || m.GetCounter().GetValue() != 1 {
		t.Errorf("the counter is %v: %v", &m, err)
	}
}
