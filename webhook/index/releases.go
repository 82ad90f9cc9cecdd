// SPDX-License-Identifier: Apache-2.0

// Package index keeps a registry filled from the release records of a cluster: Secrets of type helm.sh/release.v1, watched. A Secret is
// reduced to its entry as it comes off the wire, so that no more than a few of them are in memory at once, and nothing of one is kept.
//
// What was read stays when the API server cannot be reached: an old answer is better than none. Heard tells how old.
package index

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// Client is as much of client-go's clientset as is used: all of it would make the program a sixth larger.
type Client interface {
	CoreV1() typedcorev1.CoreV1Interface
}

// Releases fills a registry.
type Releases struct {
	streams []*stream
	shared  *reader
	log     logr.Logger
}

// New makes a Releases of the release records of some namespaces; none stands for all. The registry must have been made for the same. Watches
// of a client have no rate limit, the pages of lists have: where the API server streams no lists, a client with client-go's default of five
// requests a second takes two seconds for a hundred records.
func NewReleases(client Client, namespaces []string, into *registry.Registry, log logr.Logger) *Releases {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	w := &Releases{log: log, shared: newReader(into, log, fetcher(client))}
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		w.streams = append(w.streams, newStream(client, ns, log, w.shared))
	}
	return w
}

// fetchTimeout bounds how long one Secret is waited for: nothing else is read meanwhile.
const fetchTimeout = 2 * time.Second

// fetcher fetches one Secret. The role allows to list it, not to get it.
func fetcher(client Client) func(context.Context, cache.ObjectName) (*corev1.Secret, error) {
	return func(ctx context.Context, name cache.ObjectName) (*corev1.Secret, error) {
		ctx, stop := context.WithTimeout(ctx, fetchTimeout)
		defer stop()
		one := fields.AndSelectors(releaseSecrets, fields.OneTermEqualSelector("metadata.name", name.Name)).String()
		list, err := client.CoreV1().Secrets(name.Namespace).List(ctx, metav1.ListOptions{FieldSelector: one})
		if err != nil || len(list.Items) == 0 {
			return nil, err
		}
		return &list.Items[0], nil
	}
}

// Start watches until ctx is done, and returns nil. It is called once.
func (w *Releases) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, w.log)
	var streams sync.WaitGroup
	streams.Go(func() { w.shared.run(ctx) })
	for _, s := range w.streams {
		streams.Go(func() { s.run(ctx) })
	}
	streams.Wait()
	return nil
}

// NeedLeaderElection says that every replica watches: each answers requests.
func (w *Releases) NeedLeaderElection() bool { return false }

// Synced says whether every record was read once. It stays true when the API server is lost later.
func (w *Releases) Synced() bool {
	return !slices.ContainsFunc(w.streams, func(s *stream) bool { return !s.synced.Load() })
}

// Live says whether it hears of changes as they happen, and has read all that it heard of in a namespace; the namespace "" stands for all.
// Where it does not, what it filled may be out of date.
func (w *Releases) Live(namespace string) bool {
	return !slices.ContainsFunc(w.streams, func(s *stream) bool { return !s.state.live() }) && !w.shared.behindIn(namespace)
}

// Waiting is how many records are heard of and not read yet.
func (w *Releases) Waiting() int { return w.shared.waiting() }

// Heard is when the API server last said something of the namespaces that it has been silent about longest: the API server sends a bookmark
// about once a minute where nothing happens. It is zero before each has been heard of.
func (w *Releases) Heard() time.Time {
	var oldest time.Time
	for i, s := range w.streams {
		heard := s.heard.Load()
		if heard == 0 {
			return time.Time{}
		}
		if t := time.Unix(0, heard); i == 0 || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}
