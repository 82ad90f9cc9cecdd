// SPDX-License-Identifier: Apache-2.0

// Package metrics shows the newest state of the auditor to Prometheus.
package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// buckets are in seconds. The targets are 1 s and 3 s for a change, and less for an evaluation.
var buckets = []float64{.01, .025, .05, .1, .25, .5, 1, 2, 3, 5, 10, 30}

// Options of the metrics.
type Options struct {
	// Version is that of the program.
	Version string
	// Cluster is "namespace/name" of the Cluster that the auditor runs on, for bundle deployments of which only the
	// release is known; empty if that is not known.
	Cluster string
}

// Metrics implements prometheus.Collector. Its methods are safe for concurrent use.
type Metrics struct {
	options              Options
	descriptions         descriptions
	evaluation, toMetric prometheus.Histogram
	synced, queue        prometheus.Gauge
	watchRestarts        prometheus.Counter
	leads                func() bool
	age                  func() (time.Duration, bool)

	mu             sync.Mutex // guards the fields below
	view           *view.View
	history        history
	lastEvaluation time.Time
}

// New makes the metrics. The caller registers them.
func New(o Options) *Metrics {
	return &Metrics{options: o, descriptions: describe(), evaluation: histogram(evaluationSeconds),
		toMetric: histogram(changeToMetric), view: &view.View{},
		synced: prometheus.NewGauge(prometheus.GaugeOpts(named(synced))),
		queue:  prometheus.NewGauge(prometheus.GaugeOpts(named(queue))),

		watchRestarts: prometheus.NewCounter(prometheus.CounterOpts(named(watchRestarts))),
		leads:         func() bool { return false }, age: func() (time.Duration, bool) { return 0, false },
		history: history{deployments: map[object.DeploymentID]*deploymentHistory{}, releases: map[string]int{}}}
}

func histogram(name string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: named(name).Help, Buckets: buckets})
}

// named returns the options of the metric with a name.
func named(name string) prometheus.Opts {
	all := Families()
	index := slices.IndexFunc(all, func(f Family) bool { return f.Name == name })
	return prometheus.Opts{Name: name, Help: all[index].Help}
}

// Update shows a view.
func (m *Metrics) Update(s *view.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = s.After
	m.history.update(s)
}

// SetLeader sets the function that reports whether this replica writes. It is called before the first collection.
func (m *Metrics) SetLeader(leads func() bool) { m.leads = leads }

// SetAge sets the function that returns the age of the newest state, and false before the first one. It is called
// before the first collection.
func (m *Metrics) SetAge(age func() (time.Duration, bool)) { m.age = age }

// SetSynced sets whether everything was read that can be read.
func (m *Metrics) SetSynced(yes bool) { m.synced.Set(number(yes)) }

// Forget shows that nothing is known at present, instead of an old state. The counters go on with the next view.
func (m *Metrics) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = &view.View{}
	m.SetSynced(false)
}

// Evaluated records an evaluation that ended at a time.
func (m *Metrics) Evaluated(when time.Time, took time.Duration) {
	m.evaluation.Observe(took.Seconds())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastEvaluation = when
}

// ChangeShown records the time from the arrival of a change to the metrics that show it.
func (m *Metrics) ChangeShown(after time.Duration) { m.toMetric.Observe(after.Seconds()) }

// SetQueueLength sets the number of changes that are not evaluated yet.
func (m *Metrics) SetQueueLength(n int) { m.queue.Set(float64(n)) }

// WatchRestarted counts a watch that broke and was started again.
func (m *Metrics) WatchRestarted() { m.watchRestarts.Inc() }

// Describe implements prometheus.Collector. It sends nothing, because metrics of what is not known are omitted.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.evaluation, m.toMetric, m.synced, m.queue, m.watchRestarts} {
		c.Collect(ch)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := collection{series: series{samples: map[string]*sample{}}, View: m.view, history: &m.history,
		cluster: m.options.Cluster, releaseObjects: share[string]{}, crowded: map[string]bool{}}
	c.add(build, 1, m.options.Version)
	c.add(leader, number(m.leads()))
	if !m.lastEvaluation.IsZero() {
		c.add(lastEvaluation, float64(m.lastEvaluation.UnixMilli())/1000)
	}
	if age, known := m.age(); known {
		c.add(stateAge, age.Seconds())
	}
	if !m.view.Evaluated.IsZero() { // otherwise nothing is known
		c.addDeployments()
		c.addFindings()
		c.addAggregates()
		c.addFleet()
	}
	c.send(m.descriptions, ch)
}
