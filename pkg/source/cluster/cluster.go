// SPDX-License-Identifier: Apache-2.0

// Package cluster reads a live cluster: discovery once, then paged lists. It passes on each item as soon as the item
// arrives, and keeps none. An audit requests no single object from it.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// DefaultConcurrency is the number of concurrent requests. It hides latency and stays below the limits of API
	// priority and fairness.
	DefaultConcurrency = 8
	// DefaultPageSize is the limit of a LIST request, as in kubectl.
	DefaultPageSize = 500
	// DefaultMaxPages and DefaultMaxObjects bound one list. No real cluster reaches them. They end a list that a faulty
	// server never ends.
	DefaultMaxPages   = 10_000
	DefaultMaxObjects = 2_000_000
)

// The limits of an answer, in bytes after decompression.
const (
	// maxAnswer applies to an answer that is held in memory: one object (at most 1.5 MiB in etcd), or a discovery
	// document (3 MiB for 2,000 kinds).
	maxAnswer = 64 << 20
	// maxPage applies to a page of a list, which is read object by object: 500 objects of 1.5 MiB are 750 MiB.
	maxPage = 1 << 30
)

// Options of a Cluster. A zero value means the default.
type Options struct {
	Concurrency int
	PageSize    int
	MaxPages    int
	MaxObjects  int
	// Context is the name of the kubeconfig's context. It is only displayed.
	Context string
	// Now is the clock. Describe reads it once.
	Now func() time.Time
	// ReadOnly refuses all requests but GET.
	ReadOnly bool
}

// Cluster is a live cluster. It implements source.Source.
type Cluster struct {
	server    string // the address without credentials
	client    rest.Interface
	discovery *discovery.DiscoveryClient
	slots     *semaphore.Weighted // one for each concurrent request
	options   Options
	as        string // the user that all requests impersonate; empty without one

	kindsMu sync.Mutex
	kinds   *source.Kinds // set by the first Kinds that succeeds
}

var _ source.Source = (*Cluster)(nil)

// New makes a Cluster from a client configuration. It makes no request.
func New(config *rest.Config, o Options) (*Cluster, error) {
	o.Concurrency = cmp.Or(o.Concurrency, DefaultConcurrency)
	o.PageSize = cmp.Or(o.PageSize, DefaultPageSize)
	o.MaxPages = cmp.Or(o.MaxPages, DefaultMaxPages)
	o.MaxObjects = cmp.Or(o.MaxObjects, DefaultMaxObjects)
	c := &Cluster{server: escape.Address(config.Host), slots: semaphore.NewWeighted(int64(o.Concurrency)), options: o,
		as: config.Impersonate.UserName}
	if err := c.connect(rest.CopyConfig(config)); err != nil {
		return nil, fmt.Errorf("preparing the connection to %s: %s", c.server, escape.WithoutCredentials(err.Error()))
	}
	return c, nil
}

// connect makes the clients. It changes the configuration.
func (c *Cluster) connect(config *rest.Config) error {
	config.QPS = -1 // API priority and fairness limits the rate, and Concurrency limits this client
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if c.options.ReadOnly {
		config.Wrap(transport.ReadOnly)
	}
	httpClient, err := transport.Client(config, transport.Bounds{Answer: maxAnswer, Page: maxPage})
	if err != nil {
		return err
	}
	if c.client, err = rest.UnversionedRESTClientForConfigAndClient(config, httpClient); err != nil {
		return err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	return err
}

// Describe requests the server's version. If the server forbids it, the version is empty. If the server does not answer
// or does not accept the credentials, Describe returns an error.
func (c *Cluster) Describe(ctx context.Context) (source.Description, error) {
	d := source.Description{Origin: source.OriginCluster, Context: c.options.Context, Server: c.server,
		TakenAt: c.options.Now().UTC()}
	body, err := c.do(ctx, c.client.Get().AbsPath("/version"))
	switch {
	case apierrors.IsForbidden(err):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("reaching the cluster at %s: %w", c.server, err)
	}
	var v version.Info
	if err := json.Unmarshal(body, &v); err != nil {
		return d, fmt.Errorf("reaching the cluster at %s: the answer to /version is not a Kubernetes version", c.server)
	}
	d.KubernetesVersion = v.GitVersion
	return d, nil
}

// do sends a request when fewer than Concurrency requests are in progress, and returns the body of the answer.
func (c *Cluster) do(ctx context.Context, request *rest.Request) ([]byte, error) {
	body, _, err := c.warned(ctx, request)
	return body, err
}

// warned does what do does, and also returns the warnings in the answer.
func (c *Cluster) warned(ctx context.Context, request *rest.Request) (body []byte, warnings []string, err error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	defer c.slots.Release(1)
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // it has the server's message; the error of Raw has not
		return nil, nil, shortened(err)
	}
	for _, w := range result.Warnings() {
		warnings = append(warnings, w.Text)
	}
	body, err = result.Raw()
	return body, warnings, err
}

// maxMessage is the length in bytes at which the message of a server is cut, and beyond which its details are left out.
// Each object and each list of a namespace may have an error.
const maxMessage = 8 << 10

// shortened returns an error of a server with a message of limited length.
func shortened(err error) error {
	e, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	status := &e.ErrStatus
	if len(status.Message) > maxMessage {
		status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "… (shortened)"
	}
	if status.Details != nil && status.Details.Size() > maxMessage {
		status.Details = nil
	}
	return err
}

// failure converts the error of a request. The server's message may be displayed.
func failure(err error) *source.Failure {
	if e, ok := errors.AsType[*FailureError](err); ok {
		return &e.Failure
	}
	f := &source.Failure{Reason: source.ReadFailed, Detail: err.Error()}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		f.Reason = source.Forbidden
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		f.Reason = source.KindNotServed
	}
	return f
}

// FailureError is a Failure as an error.
type FailureError struct{ source.Failure }

// Error implements error.
func (e *FailureError) Error() string { return string(e.Reason) + ": " + e.Detail }

// FailureOf converts the error of Page, of Watch, or of a list of client-go. The server's message may be displayed.
func FailureOf(err error) source.Failure { return *failure(err) }

// Kinds reads from discovery every kind that can be listed. It requests discovery until it succeeds once. If an API
// group does not answer, only the kinds of that group are unknown.
func (c *Cluster) Kinds(ctx context.Context) (*source.Kinds, error) {
	c.kindsMu.Lock()
	defer c.kindsMu.Unlock()
	if c.kinds == nil {
		kinds, err := c.discover(ctx)
		if err != nil {
			return nil, err
		}
		c.kinds = kinds
	}
	return c.kinds, nil
}

// ForgetKinds makes the next Kinds request discovery again.
func (c *Cluster) ForgetKinds() {
	c.kindsMu.Lock()
	defer c.kindsMu.Unlock()
	c.kinds = nil
}

func (c *Cluster) discover(ctx context.Context) (*source.Kinds, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.slots.Release(1)
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	kinds := &source.Kinds{}
	kinds.MissingMeans(source.Failure{Reason: source.KindNotServed,
		Detail: "the API server does not serve this kind in this version"})
	failed, partial := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case partial:
		for gv, e := range failed.Groups {
			kinds.Break(gv, source.Failure{Reason: source.ReadFailed, Detail: shortened(e).Error()})
		}
	case apierrors.IsForbidden(err): // discovery omits the server's message
		return nil, fmt.Errorf("asking %s for its kinds: forbidden to this user (the role system:discovery grants it)",
			c.server)
	case err != nil:
		return nil, fmt.Errorf("asking %s for its kinds: %w", c.server, err)
	}
	addKinds(kinds, groups, lists)
	return kinds, nil
}

// addKinds adds the kinds of the lists, which are in no order. The preferred version of each group comes first.
func addKinds(kinds *source.Kinds, groups []*metav1.APIGroup, lists []*metav1.APIResourceList) {
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
	}
	for _, g := range groups {
		for _, v := range append([]metav1.GroupVersionForDiscovery{g.PreferredVersion}, g.Versions...) {
			l := byVersion[v.GroupVersion]
			gv, err := schema.ParseGroupVersion(v.GroupVersion)
			if l == nil || err != nil || !validPath(gv) {
				continue // it did not answer, or its name is not valid
			}
			for _, r := range l.APIResources {
				if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") {
					kinds.Add(source.Kind{GroupVersionKind: gv.WithKind(r.Kind), Resource: r.Name,
						ShortNames: r.ShortNames, Namespaced: r.Namespaced,
						ReadOnly: !slices.Contains(r.Verbs, "create")})
				}
			}
		}
	}
}

// validPath reports whether a group version can be part of a path without changing it.
func validPath(gv schema.GroupVersion) bool {
	return len(rest.IsValidPathSegmentName(gv.Group))+len(rest.IsValidPathSegmentName(gv.Version)) == 0
}
