// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/x509"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

const metricPrefix = "fleetdoctor_webhook_"

// MetricSources are called when metrics are read.
type MetricSources struct {
	// Size of the index: desired objects, releases, and unreadable records.
	Size func() (objects, releases, damaged int)
	// LastMessage is the time of the API server's last message about release records; zero before the first one.
	LastMessage func() time.Time
	// Waiting is the number of records that were received and are not read yet.
	Waiting func() int
	// Certificate is the certificate in use; without one it returns an error.
	Certificate func() (*x509.Certificate, error)
	// Failures is the number of certificates that could not be used.
	Failures func() float64
	Now      func() time.Time
}

// Collector collects the metrics of the webhook. No label is the name of an object, a namespace or a user.
type Collector struct {
	sources         MetricSources
	requests        *prometheus.CounterVec
	latency         *prometheus.HistogramVec
	limited, closed prometheus.Counter
}

// latencyBuckets are in seconds: from 50 µs, which is slow for a decision from memory, to 2 s, the timeout of the API
// server.
var latencyBuckets = []float64{50e-6, 100e-6, 250e-6, 500e-6,
	1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2}

// NewCollector makes a Collector. The caller registers it.
func NewCollector(s MetricSources) *Collector {
	return &Collector{
		sources: s,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + "requests_total",
			Help: "Admission requests, by handler, decision and reason."}, []string{"handler", "decision", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricPrefix + "request_duration_seconds",
			Help: "Time to answer an admission request.", Buckets: latencyBuckets}, []string{"handler"}),
		limited: newCounter("brakes_total", "Objects that exceeded the rate limit of stamps, "+
			"because another program removes their ownership metadata each time."),
		closed: newCounter("connections_closed_total",
			"Connections that were closed or refused, because too many were open."),
	}
}

func newCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + name, Help: help})
}

// Observe counts a request.
func (m *Collector) Observe(o admission.Outcome) {
	m.requests.WithLabelValues(o.Handler, string(o.Decision), string(o.Reason)).Inc()
	m.latency.WithLabelValues(o.Handler).Observe(o.Took.Seconds())
}

// Describe implements prometheus.Collector. It sends nothing, because some metrics are omitted.
func (m *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It omits unknown values: they are not zero.
func (m *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.closed} {
		c.Collect(ch)
	}
	send := func(kind prometheus.ValueType, name, help string, v float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(metricPrefix+name, help, nil, nil), kind, v)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	objects, releases, damaged := m.sources.Size()
	send(gauge, "cache_objects", "Objects that the known releases desire.", float64(objects))
	send(gauge, "cache_releases", "Known Helm releases.", float64(releases))
	send(gauge, "cache_damaged_records", "Release records that could not be read.", float64(damaged))
	send(gauge, "cache_waiting_records", "Release records that changed and are not read yet.",
		float64(m.sources.Waiting()))
	if lastMessage := m.sources.LastMessage(); !lastMessage.IsZero() {
		send(gauge, "cache_age_seconds", "Time since the last message of the API server about release records.",
			m.sources.Now().Sub(lastMessage).Seconds())
	}
	if leaf, err := m.sources.Certificate(); err == nil {
		send(gauge, "certificate_expiration_timestamp_seconds",
			"Time when the certificate in use expires, in seconds since 1970.", float64(leaf.NotAfter.Unix()))
	}
	send(counter, "certificate_reload_failures_total", "Certificates that were found and could not be used.",
		m.sources.Failures())
}
