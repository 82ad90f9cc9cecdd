// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

func sources(lastMessage, expiry time.Time, now time.Time) MetricSources {
	return MetricSources{
		Size:        func() (objects, releases, damaged int) { return 3, 2, 1 },
		LastMessage: func() time.Time { return lastMessage },
		Certificate: func() (*x509.Certificate, error) {
			if expiry.IsZero() {
				return nil, errors.New("no certificate")
			}
			return &x509.Certificate{NotAfter: expiry}, nil
		},
		Failures: func() float64 { return 4 },
		Waiting:  func() int { return 5 },
		Now:      func() time.Time { return now },
	}
}

func TestMetrics(t *testing.T) {
	now := time.Unix(2000, 0)
	m := NewCollector(sources(now.Add(-90*time.Second), now.Add(time.Hour), now))
	m.Observe(admission.Outcome{Handler: "stamp", Decision: admission.Stamped, Reason: "Adopted",
		Took: 60 * time.Microsecond})
	m.Observe(admission.Outcome{Handler: "stamp", Decision: admission.Passed, Reason: "NotWanted",
		Took: 3 * time.Second})
	m.limited.Inc()
	want := `
# HELP fleetdoctor_webhook_brakes_total Objects that exceeded the rate limit of stamps, ` +
		"because another program removes their ownership metadata each time." + `
# TYPE fleetdoctor_webhook_brakes_total counter
fleetdoctor_webhook_brakes_total 1
# HELP fleetdoctor_webhook_cache_age_seconds Time since the last message of the API server about release records.
# TYPE fleetdoctor_webhook_cache_age_seconds gauge
fleetdoctor_webhook_cache_age_seconds 90
# HELP fleetdoctor_webhook_cache_damaged_records Release records that could not be read.
# TYPE fleetdoctor_webhook_cache_damaged_records gauge
fleetdoctor_webhook_cache_damaged_records 1
# HELP fleetdoctor_webhook_cache_objects Objects that the known releases desire.
# TYPE fleetdoctor_webhook_cache_objects gauge
fleetdoctor_webhook_cache_objects 3
# HELP fleetdoctor_webhook_cache_releases Known Helm releases.
# TYPE fleetdoctor_webhook_cache_releases gauge
fleetdoctor_webhook_cache_releases 2
# HELP fleetdoctor_webhook_cache_waiting_records Release records that changed and are not read yet.
# TYPE fleetdoctor_webhook_cache_waiting_records gauge
fleetdoctor_webhook_cache_waiting_records 5
# HELP fleetdoctor_webhook_certificate_expiration_timestamp_seconds ` +
		"Time when the certificate in use expires, in seconds since 1970." + `
# TYPE fleetdoctor_webhook_certificate_expiration_timestamp_seconds gauge
fleetdoctor_webhook_certificate_expiration_timestamp_seconds 5600
# HELP fleetdoctor_webhook_certificate_reload_failures_total Certificates that were found and could not be used.
# TYPE fleetdoctor_webhook_certificate_reload_failures_total counter
fleetdoctor_webhook_certificate_reload_failures_total 4
# HELP fleetdoctor_webhook_connections_closed_total Connections that were closed or refused, because too many were open.
# TYPE fleetdoctor_webhook_connections_closed_total counter
fleetdoctor_webhook_connections_closed_total 0
# HELP fleetdoctor_webhook_request_duration_seconds Time to answer an admission request.
# TYPE fleetdoctor_webhook_request_duration_seconds histogram
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="5e-05"} 0
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.0001"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.00025"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.0005"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.001"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.0025"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.005"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.01"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.025"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.05"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.1"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.25"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="0.5"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="1"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="2"} 1
fleetdoctor_webhook_request_duration_seconds_bucket{handler="stamp",le="+Inf"} 2
fleetdoctor_webhook_request_duration_seconds_sum{handler="stamp"} 3.00006
fleetdoctor_webhook_request_duration_seconds_count{handler="stamp"} 2
# HELP fleetdoctor_webhook_requests_not_recorded_total Requests that were not written down, because too many waited.
# TYPE fleetdoctor_webhook_requests_not_recorded_total counter
fleetdoctor_webhook_requests_not_recorded_total 0
# HELP fleetdoctor_webhook_requests_total Admission requests, by handler, decision and reason.
# TYPE fleetdoctor_webhook_requests_total counter
fleetdoctor_webhook_requests_total{decision="passed",handler="stamp",reason="NotWanted"} 1
fleetdoctor_webhook_requests_total{decision="stamped",handler="stamp",reason="Adopted"} 1
`
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&got, f); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestUnknown checks that unknown values are omitted, and that a process can have several Collectors.
func TestUnknown(t *testing.T) {
	for range 2 {
		r := prometheus.NewPedanticRegistry()
		if err := r.Register(NewCollector(sources(time.Time{}, time.Time{}, time.Unix(2000, 0)))); err != nil {
			t.Fatal(err)
		}
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			got = append(got, strings.TrimPrefix(f.GetName(), "fleetdoctor_webhook_"))
		}
		want := []string{"brakes_total", "cache_damaged_records", "cache_objects", "cache_releases",
			"cache_waiting_records", "certificate_reload_failures_total", "connections_closed_total",
			"requests_not_recorded_total"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	}
}
