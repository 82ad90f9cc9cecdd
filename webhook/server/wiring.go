// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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

// The paths that the webhook configurations name.
const (
	StampPath      = "/stamp"
	StampExactPath = "/stamp-exact"
	GuardPath      = "/guard"
)

// parts are what a Server serves and runs.
type parts struct {
	handlers map[string]ctrladmission.Handler // by path
	metrics  *Collector
	run      []manager.Runnable
	// synced are the parts that have to know everything first, by name.
	synced map[string]func() bool
}

// patience is how late a watch may be before what it has told decides. A watch of a busy cluster is milliseconds late, and the API
// server waits two seconds for an answer.
const patience = 300 * time.Millisecond

// connection is how the webhook speaks with the API server: as fast as that takes requests, which it limits itself by priority and fairness,
// with no end to a watch, and with its warnings in the log.
func connection(c *rest.Config) *rest.Config {
	c = rest.AddUserAgent(transport.Guard(c, transport.Bounds{}), Name) // a copy; a list of all records has no bound here
	c.QPS, c.RateLimiter = -1, nil
	c.Timeout = 0
	c.WarningHandler = nil
	c.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
	return c
}

// core is as much of client-go's clientset as is used: all of it would make the program a sixth larger.
type core struct{ client *typedcorev1.CoreV1Client }

// CoreV1 is named as in the clientset.
func (c core) CoreV1() typedcorev1.CoreV1Interface { return c.client }

// newClient makes a client of the core kinds. It asks for protobuf: a release record in JSON is base64 twice.
func newClient(c *rest.Config) (core, error) {
	c = rest.CopyConfig(c)
	c.ContentType = runtime.ContentTypeProtobuf
	c.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := typedcorev1.NewForConfig(c)
	if err != nil {
		return core{}, fmt.Errorf("creating a client: %w", err)
	}
	return core{client}, nil
}

// certificate makes the source of the certificate; where it is self-signed, its rotation is added to the manager.
func certificate(m manager.Manager, o Options) (certificateSource, error) {
	c := o.Certificates
	if c.Files {
		return newCertificateFiles(c.Dir)
	}
	client, err := newClient(o.Config)
	if err != nil {
		return nil, err
	}
	configurations, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("creating a client of webhook configurations: %w", err)
	}
	key := types.NamespacedName{Namespace: o.Namespace, Name: c.Secret}
	names := certificateNames(c.Service, o.Namespace, c.ExtraNames...)
	if err := addRotation(m, rotation{Secret: key, Names: names, Dir: c.Dir, Instance: o.Instance}); err != nil {
		return nil, err
	}
	trust := newCAInjector(configurations, c.Configuration, o.Log.WithName("trust"))
	if err := m.Add(trust); err != nil {
		return nil, fmt.Errorf("adding the keeper of the caBundle: %w", err)
	}
	source := newCertificateSecret(client, key, names, c.Dir, o.Log.WithName("certificate"))
	source.Tell(trust.Set)
	return source, nil
}

// product makes the webhook's own parts: the memory, what fills it, and the handlers that answer from it.
func product(m manager.Manager, o Options, source certificateSource) (parts, error) {
	client, err := newClient(o.Config)
	if err != nil {
		return parts{}, err
	}
	labels, err := metadata.NewForConfig(o.Config)
	if err != nil {
		return parts{}, fmt.Errorf("creating a client of metadata: %w", err)
	}
	memory := index.New(o.ReleaseNamespaces...)
	releases := index.NewReleases(client, o.ReleaseNamespaces, memory, o.Log.WithName("records"))
	spaces := index.NewNamespaces(labels, o.Log.WithName("namespaces"))
	measured := NewCollector(MetricSources{Size: memory.Size, Heard: releases.Heard, Waiting: releases.Waiting, Failures: source.Failures, Now: time.Now,
		Expiry: func() (time.Time, bool) { return expiryOf(source) }})
	told := newRecorder(m.GetEventRecorder(Name), measured)
	options := admission.Options{
		Index:        memory,
		Namespaces:   spaces,
		Ready:        func() bool { return releases.Synced() && spaces.Synced() },
		Live:         func(namespace string) bool { return releases.Live(namespace) && spaces.Live() },
		GuardDefault: o.GuardDefault,
		RecheckDelay: patience,
		RateLimiter:  admission.NewRateLimiter(time.Now),
		Events:       told,
		Observe:      measured.Observe,
		Log:          o.Log.WithName("admission"),
	}
	return parts{
		handlers: map[string]ctrladmission.Handler{StampPath: admission.Mutating(options), StampExactPath: admission.MutatingExact(options), GuardPath: admission.Validating(options)},
		metrics:  measured,
		run:      []manager.Runnable{releases, spaces, told},
		synced:   map[string]func() bool{"records": releases.Synced, "namespaces": spaces.Synced},
	}, nil
}

// errNotSynced is what readyz says of a part that does not know everything yet.
var errNotSynced = errors.New("not everything was read yet")
