// SPDX-License-Identifier: Apache-2.0

// Package cluster reads a live cluster: discovery once, then paged lists whose items are passed on as they come off the wire. It makes no
// request for a single object and keeps none.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

// Defaults of Options.
const (
	// DefaultConcurrency is how many requests are under way at once: enough to hide latency, few enough for any priority level.
	DefaultConcurrency = 8
	// DefaultPageSize is the limit of a LIST, as kubectl has it.
	DefaultPageSize = 500
	// DefaultMaxPages and DefaultMaxObjects bound one list. No cluster comes near them; a server that never ends its list reaches one of them.
	DefaultMaxPages   = 10_000
	DefaultMaxObjects = 2_000_000
)

// The bounds of answers, in bytes after decompression.
const (
	// maxAnswer bounds an answer that is read as a whole: one object, which has at most 1.5 MiB in etcd, or a discovery document, which has
	// 3 MiB for 2,000 kinds.
	maxAnswer = 64 << 20
	// maxPage bounds a page of a list, which is read object by object: 500 objects of etcd's limit of 1.5 MiB have 750 MiB.
	maxPage = 1 << 30
)

// Options of a Cluster. Zero values mean the defaults.
type Options struct {
	Concurrency int
	PageSize    int
	MaxPages    int
	MaxObjects  int
	// Context is the name of the kubeconfig's context, to be shown.
	Context string
	// Now is the clock, read once when reading starts.
	Now func() time.Time
}

// Cluster is a live cluster. It implements source.Source.
type Cluster struct {
	server    string // its address, to be shown
	client    rest.Interface
	discovery *discovery.DiscoveryClient
	slots     chan struct{}
	options   Options

	kindsMu sync.Mutex
	kinds   *source.Kinds // set by the first Kinds that succeeds
}

var _ source.Source = (*Cluster)(nil)

// New makes a Cluster of a client configuration. It makes no request.
func New(config *rest.Config, o Options) (*Cluster, error) {
	if o.Concurrency <= 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.PageSize <= 0 {
		o.PageSize = DefaultPageSize
	}
	if o.MaxPages <= 0 {
		o.MaxPages = DefaultMaxPages
	}
	if o.MaxObjects <= 0 {
		o.MaxObjects = DefaultMaxObjects
	}
	config = rest.CopyConfig(config)
	server := escape.Address(config.Host)
	config.QPS = -1 // the server's priority and fairness limits the rate; Concurrency limits this client
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	httpClient, err := transport.Client(config, transport.Bounds{Answer: maxAnswer, Page: maxPage})
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %s", server, escape.WithoutCredentials(err.Error()))
	}
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %s", server, escape.WithoutCredentials(err.Error()))
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %s", server, escape.WithoutCredentials(err.Error()))
	}
	return &Cluster{server: server, client: client, discovery: disco, slots: make(chan struct{}, o.Concurrency), options: o}, nil
}

// Describe asks for the server's version. An answer that refuses it is an answer; no answer, or one that does not know us, is an error.
func (c *Cluster) Describe(ctx context.Context) (source.Description, error) {
	d := source.Description{Origin: source.OriginCluster, Context: c.options.Context, Server: c.server, TakenAt: c.options.Now().UTC()}
	release, err := c.acquire(ctx)
	if err != nil {
		return d, err
	}
	defer release()
	body, err := answerOf(c.client.Get().AbsPath("/version").Do(ctx))
	switch {
	case apierrors.IsForbidden(err):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("reaching the cluster at %s: %w", c.server, err)
	}
	var v version.Info
	if err := json.Unmarshal(body, &v); err != nil {
		return d, fmt.Errorf("reaching the cluster at %s: its /version is no Kubernetes version", c.server)
	}
	d.KubernetesVersion = v.GitVersion
	return d, nil
}

// acquire takes one of the slots for a request; the caller gives it back with release.
func (c *Cluster) acquire(ctx context.Context) (release func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answerOf returns what a request was answered with. An error comes from Error, which has the server's own words; Raw's has not.
func answerOf(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// failure turns what a request came back with into what the report says of it. The server's own words are fit to be shown.
func failure(err error) source.Failure {
	f := source.Failure{Reason: source.ReadFailed, Detail: err.Error()}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		f.Reason = source.Forbidden
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		f.Reason = source.KindNotServed
	}
	return f
}

// ended returns the error of the context. Requests that fail because the context ended return many different errors.
func ended(ctx context.Context) bool { return ctx.Err() != nil }
