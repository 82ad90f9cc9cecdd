// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/x509"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/index"
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
	return components{
		handlers: map[string]ctrladmission.Handler{StampPath: admission.Mutating(options),
			StampExactPath: admission.MutatingExact(options), GuardPath: admission.Validating(options)},
		metrics: collector,
		run:     []manager.Runnable{releases, namespaces},
		synced:  map[string]func() bool{"records": releases.Synced, "namespaces": namespaces.Synced},
	}, nil
}
