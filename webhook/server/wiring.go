// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/seen"
)

// The paths of the handlers, which the webhook configurations name.
const (
	StampPath      = "/stamp"
	StampExactPath = "/stamp-exact"
	GuardPath      = "/guard"
)

// components are the parts that build assembles to a Server.
type components struct {
	handlers map[string]ctrladmission.Handler // by path
	metrics  *Collector
	run      []manager.Runnable
	// synced reports for a component, by name, whether it has read everything. The Server is not ready before all have.
	synced map[string]func() bool
}

// recheckDelay is the tolerated delay of a watch. In a busy cluster the delay is milliseconds, and the API server waits
// two seconds for an answer.
const recheckDelay = 300 * time.Millisecond

// connection configures the requests to the API server: without a rate limit in the client, because the API server has
// its own by priority and fairness; without a timeout, which would end watches; and with warnings in the log.
func connection(c *rest.Config) *rest.Config {
	// A copy. The size of a list of all records has no bound.
	c = rest.AddUserAgent(transport.Guard(c, transport.Bounds{}), Name)
	c.QPS, c.RateLimiter = -1, nil
	c.Timeout = 0
	c.WarningHandler = nil
	c.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
	return c
}

// newCoreClient makes a client of the core kinds. It requests protobuf, because a release record in JSON is base64
// twice.
func newCoreClient(c *rest.Config) (*typedcorev1.CoreV1Client, error) {
	c = rest.CopyConfig(c)
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := typedcorev1.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client, nil
}

// newCertificateSource makes the source of the certificate, and adds to the manager what keeps it current.
func newCertificateSource(m manager.Manager, o Options) (certificateSource, error) {
	c := o.Certificates
	if c.Files {
		files, err := newCertificateFiles(c.Dir)
		if err != nil {
			return nil, err
		}
		return files, m.Add(files)
	}
	if err := markCertificate(c.Dir); err != nil {
		return nil, err
	}
	s := &certificateSecret{
		key:   types.NamespacedName{Namespace: o.Namespace, Name: c.Secret},
		names: certificateNames(c.Service, o.Namespace, c.ExtraNames...),
		log:   o.Log.WithName("certificate"),
		injector: caInjector{
			name:   c.Configuration,
			reader: m.GetCache(), // a client does not read unstructured objects from it
			writer: m.GetClient(),
			log:    o.Log.WithName("trust"),
		},
	}
	if err := s.watch(m); err != nil {
		return nil, err
	}
	if err := addRotation(m, s.key, s.names, c.Dir); err != nil {
		return nil, err
	}
	return s, nil
}

// newComponents makes the index, the watches that keep it current, and the handlers that read it.
func newComponents(m manager.Manager, o Options, source certificateSource) (components, error) {
	client, err := newCoreClient(o.Config)
	if err != nil {
		return components{}, err
	}
	metadataClient, err := metadata.NewForConfig(o.Config)
	if err != nil {
		return components{}, fmt.Errorf("creating a client of metadata: %w", err)
	}
	desired := index.New(o.ReleaseNamespaces...)
	releases := index.NewReleases(client, o.ReleaseNamespaces, desired, o.Log.WithName("records"))
	namespaces := index.NewNamespaces(metadataClient, o.Log.WithName("namespaces"))
	collector := NewCollector(MetricSources{Size: desired.Size, LastMessage: releases.LastMessage,
		Waiting: releases.Waiting, Failures: source.Failures, Now: time.Now,
		Certificate: func() (*x509.Certificate, error) { return leafOf(source) }})
	options := admission.Options{
		Index:        desired,
		Namespaces:   namespaces,
		Ready:        func() bool { return releases.Synced() && namespaces.Synced() },
		Live:         func(namespace string) bool { return releases.Live(namespace) && namespaces.Live() },
		GuardDefault: o.GuardDefault,
		RecheckDelay: recheckDelay,
		RateLimiter:  admission.NewRateLimiter(time.Now),
		Events:       eventRecorder{m.GetEventRecorder(Name), collector.limited},
		Observe:      collector.Observe,
		Log:          o.Log.WithName("admission"),
	}
	run := []manager.Runnable{releases, namespaces}
	if o.Record != admission.RecordOff {
		recorder := seen.New(client.ConfigMaps(o.Namespace), seenEvent(m.GetEventRecorder(Name)), collector.unseen.Inc,
			o.Log.WithName("seen"))
		options.Seen, run = o.seen(recorder), append(run, recorder)
	}
	return components{
		handlers: map[string]ctrladmission.Handler{StampPath: admission.Mutating(options),
			StampExactPath: admission.MutatingExact(options), GuardPath: admission.Validating(options)},
		metrics: collector,
		run:     run,
		synced:  map[string]func() bool{"records": releases.Synced, "namespaces": namespaces.Synced},
	}, nil
}

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

// seen returns what writes a request down, as the options say.
func (o Options) seen(to *seen.Recorder) func(journal.Seen, corev1.ObjectReference) {
	return func(s journal.Seen, about corev1.ObjectReference) {
		if o.Record == admission.RecordDeletions && s.Verb != journal.Delete {
			return
		}
		if !o.RecordGroups {
			s.Groups = nil
		}
		to.Add(s, about)
	}
}

// seenEvent records an Event about the object of a request.
func seenEvent(to events.EventRecorder) func(corev1.ObjectReference, journal.Seen) {
	return func(about corev1.ObjectReference, s journal.Seen) {
		reason, action := "DeletedByUser", "Delete"
		if s.Verb == journal.Update {
			reason, action = "OwnershipChangedByUser", "Update"
		}
		to.Eventf(&about, nil, corev1.EventTypeNormal, reason, action, "%s", s.Sentence())
	}
}

// Name is the name of the webhook in the user agent and in Events.
const Name = "fleetdoctor-webhook"

// Options configure a Server.
type Options struct {
	// Config is the configuration of the client. Its rate limit, timeout and warning handler are replaced.
	Config *rest.Config
	// Namespace is the namespace of the webhook's Secret and Service.
	Namespace string
	// Host and Port are the address for admission requests; an empty Host means all addresses.
	Host string
	Port int
	// Metrics and Probes are addresses as "host:port"; "0" means none.
	Metrics, Probes string
	Certificates    Certificates
	GuardDefault    admission.GuardMode
	// Record selects the requests that are written down, in Namespace; with the groups of their users if RecordGroups
	// is set.
	Record       admission.RecordMode
	RecordGroups bool
	// ReleaseNamespaces are the namespaces from which release records are read; empty means all.
	ReleaseNamespaces []string
	// ShutdownDelay is the time during which /readyz fails and requests are still answered.
	ShutdownDelay time.Duration
	Log           logr.Logger
}

// Certificates configure the serving certificate. If Files is set, another program writes it to the directory Dir.
type Certificates struct {
	Files bool
	// Dir is a writable directory if Files is not set.
	Dir string
	// Secret stores the self-signed certificate and its authority. Configuration names the webhook configurations that
	// get the authority. The certificate is for the names of Service, and for ExtraNames.
	Secret, Configuration, Service string
	ExtraNames                     []string
}

// The endpoints of a Server.
const (
	Requests = "admission requests"
	Metrics  = transport.MetricsEndpoint
	Probes   = transport.ProbesEndpoint
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
	sources  MetricSources
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	// unseen counts the requests that were not written down.
	limited, closed, unseen prometheus.Counter
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
		unseen: newCounter("requests_not_recorded_total",
			"Requests that were not written down, because too many waited."),
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
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.limited, m.closed, m.unseen} {
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
