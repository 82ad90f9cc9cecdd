// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

const metricPrefix = "fleetdoctor_webhook_"

// MetricSources are called when metrics are read.
type MetricSources struct {
	// Size of the index: desired objects, releases, and unreadable records.
	Size func() (objects, releases, damaged int)
	// LastMessage is the time of the API server's last message about the records; zero if there was none.
	LastMessage func() time.Time
	// Waiting is the number of records that were received and are not read yet.
	Waiting func() int
	// Expiry of the certificate in use; ok is false if there is none.
	Expiry func() (at time.Time, ok bool)
	// Failures is the number of certificates that could not be used.
	Failures func() float64
	Now      func() time.Time
}

// Collector collects the metrics of the webhook. No label is the name of an object, a namespace or a user.
type Collector struct {
	sources  MetricSources
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	limited  prometheus.Counter
	dropped  prometheus.Counter

	objects, releases, damaged, waiting, age, expiry, failures *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// latencyBuckets are in seconds: from 50 µs, which is slow for a decision from memory, to 2 s, the timeout of the API server.
var latencyBuckets = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2}

// NewCollector makes a Collector. The caller registers it.
func NewCollector(s MetricSources) *Collector {
	value := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(metricPrefix+name, help, nil, nil) }
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
		objects:  value("cache_objects", "Objects that the known releases desire."),
		releases: value("cache_releases", "Known Helm releases."),
		damaged:  value("cache_damaged_records", "Release records that could not be read."),
		waiting:  value("cache_waiting_records", "Release records that changed and are not read yet."),
		age:      value("cache_age_seconds", "Time since the last message of the API server about release records."),
		expiry:   value("certificate_expiration_timestamp_seconds", "Time when the certificate in use expires, in seconds since 1970."),
		failures: value("certificate_reload_failures_total", "Certificates that were found and could not be used."),
	}
}

// Observe counts a request.
func (m *Collector) Observe(o admission.Outcome) {
	m.requests.WithLabelValues(o.Handler, string(o.Decision), string(o.Reason)).Inc()
	m.latency.WithLabelValues(o.Handler).Observe(o.Took.Seconds())
}

// CountRateLimited counts an object that exceeds the rate limit of stamps.
func (m *Collector) CountRateLimited() { m.limited.Inc() }

// Dropped counts an Event that was not recorded.
func (m *Collector) Dropped() { m.dropped.Inc() }

// Describe implements prometheus.Collector.
func (m *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.dropped} {
		c.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{m.objects, m.releases, m.damaged, m.waiting, m.age, m.expiry, m.failures} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It leaves out unknown values: they are not zero.
func (m *Collector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.dropped} {
		c.Collect(ch)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	objects, releases, damaged := m.sources.Size()
	gauge(m.objects, float64(objects))
	gauge(m.releases, float64(releases))
	gauge(m.damaged, float64(damaged))
	gauge(m.waiting, float64(m.sources.Waiting()))
	if lastMessage := m.sources.LastMessage(); !lastMessage.IsZero() {
		gauge(m.age, m.sources.Now().Sub(lastMessage).Seconds())
	}
	if at, ok := m.sources.Expiry(); ok {
		gauge(m.expiry, float64(at.Unix()))
	}
	ch <- prometheus.MustNewConstMetric(m.failures, prometheus.CounterValue, m.sources.Failures())
}
