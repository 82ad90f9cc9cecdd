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
	sources                  MetricSources
	requests                 *prometheus.CounterVec
	latency                  *prometheus.HistogramVec
	limited, dropped, closed prometheus.Counter
}

// latencyBuckets are in seconds: from 50 µs, which is slow for a decision from memory, to 2 s, the timeout of the API server.
var latencyBuckets = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2}

// NewCollector makes a Collector. The caller registers it.
func NewCollector(s MetricSources) *Collector {
	return &Collector{
		sources: s,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + "requests_total",
			Help: "Admission requests, by handler, decision and reason."}, []string{"handler", "decision", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: metricPrefix + "request_duration_seconds",
			Help: "Time to answer an admission request.", Buckets: latencyBuckets}, []string{"handler"}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + "brakes_total",
			Help: "Objects that exceeded the rate limit of stamps, because another program removes their ownership metadata each time."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + "events_dropped_total",
			Help: "Events that were not recorded, because too many waited."}),
		closed: prometheus.NewCounter(prometheus.CounterOpts{Name: metricPrefix + "connections_closed_total",
			Help: "Connections that were closed or refused, because too many were open."}),
	}
}

// Observe counts a request.
func (m *Collector) Observe(o admission.Outcome) {
	m.requests.WithLabelValues(o.Handler, string(o.Decision), string(o.Reason)).Inc()
	m.latency.WithLabelValues(o.Handler).Observe(o.Took.Seconds())
}

func newDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+name, help, nil, nil)
}

// The metrics of the sources.
var (
	objectsDesc  = newDesc("cache_objects", "Objects that the known releases desire.")
	releasesDesc = newDesc("cache_releases", "Known Helm releases.")
	damagedDesc  = newDesc("cache_damaged_records", "Release records that could not be read.")
	waitingDesc  = newDesc("cache_waiting_records", "Release records that changed and are not read yet.")
	ageDesc      = newDesc("cache_age_seconds", "Time since the last message of the API server about release records.")
	expiryDesc   = newDesc("certificate_expiration_timestamp_seconds", "Time when the certificate in use expires, in seconds since 1970.")
	failuresDesc = newDesc("certificate_reload_failures_total", "Certificates that were found and could not be used.")
)

// Describe implements prometheus.Collector.
func (m *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.dropped, m.closed} {
		c.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{objectsDesc, releasesDesc, damagedDesc, waitingDesc, ageDesc, expiryDesc, failuresDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It omits unknown values: they are not zero.
func (m *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.dropped, m.closed} {
		c.Collect(ch)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	objects, releases, damaged := m.sources.Size()
	gauge(objectsDesc, float64(objects))
	gauge(releasesDesc, float64(releases))
	gauge(damagedDesc, float64(damaged))
	gauge(waitingDesc, float64(m.sources.Waiting()))
	if lastMessage := m.sources.LastMessage(); !lastMessage.IsZero() {
		gauge(ageDesc, m.sources.Now().Sub(lastMessage).Seconds())
	}
	if leaf, err := m.sources.Certificate(); err == nil {
		gauge(expiryDesc, float64(leaf.NotAfter.Unix()))
	}
	ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, m.sources.Failures())
}
