// SPDX-License-Identifier: Apache-2.0

// Package namespaces keeps, of every namespace of a cluster, the labels that are fleetdoctor's. It watches metadata alone.
package namespaces

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/link"
)

// prefix begins the labels that are kept.
const prefix = "fleetdoctor.io/"

// Watcher knows the namespaces. It may be asked while it runs.
type Watcher struct {
	reflector *cache.Reflector
	log       logr.Logger
	known     store
}

// New makes a Watcher. It makes no request.
func New(client metadata.Interface, log logr.Logger) *Watcher {
	w := &Watcher{log: log, known: store{labels: map[string]map[string]string{}}}
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return namespaces.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			from, err := namespaces.Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return w.known.link.Watch(from, o, func(e watch.Event) watch.Event { return e }), nil
		},
	}, client)
	w.reflector = cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, &w.known, cache.ReflectorOptions{
		Logger: &log, Name: "namespaces", TypeDescription: "namespaces", Backoff: link.Backoff()})
	return w
}

// Start watches until ctx is done, and returns nil. It is called once.
func (w *Watcher) Start(ctx context.Context) error {
	w.reflector.RunWithContext(klog.NewContext(ctx, w.log))
	return nil
}

// NeedLeaderElection says that every replica watches: each answers requests.
func (w *Watcher) NeedLeaderElection() bool { return false }

// Synced says whether every namespace was read once. It stays true when the API server is lost later; what was read stays too.
func (w *Watcher) Synced() bool { return w.known.synced.Load() }

// Live says whether it hears of changes as they happen. Where it does not, a label may have changed meanwhile.
func (w *Watcher) Live() bool { return w.known.link.Live() }

// Labels returns the labels of a namespace whose keys begin with "fleetdoctor.io/", which is nil where it has none or is not there; the
// caller does not change them.
func (w *Watcher) Labels(name string) map[string]string {
	w.known.mu.RLock()
	defer w.known.mu.RUnlock()
	return w.known.labels[name]
}

// store is where the reflector stores. The maps of labels are never changed, but replaced.
type store struct {
	link   link.Link
	synced atomic.Bool
	mu     sync.RWMutex
	labels map[string]map[string]string // by namespace
}

// Add implements cache.ReflectorStore, as do those that follow.
func (s *store) Add(obj any) error {
	m, err := metaOf(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels[m.Name] = kept(m.Labels)
	return nil
}

// Update is Add.
func (s *store) Update(obj any) error { return s.Add(obj) }

// Delete forgets a namespace.
func (s *store) Delete(obj any) error {
	m, err := metaOf(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.labels, m.Name)
	return nil
}

// Replace takes a whole list.
func (s *store) Replace(list []any, _ string) error {
	labels := make(map[string]map[string]string, len(list))
	for _, obj := range list {
		m, err := metaOf(obj)
		if err != nil {
			return err
		}
		labels[m.Name] = kept(m.Labels)
	}
	s.mu.Lock()
	s.labels = labels
	s.mu.Unlock()
	s.link.Listed() // before it is ready, and relied upon
	s.synced.Store(true)
	return nil
}

// Resync has nothing to do: nothing is forgotten.
func (s *store) Resync() error { return nil }

// Transformer implements cache.TransformingStore: the most of a namespace's metadata is who wrote it.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		m, err := metaOf(obj)
		if err != nil {
			return nil, err
		}
		m.ManagedFields = nil
		return m, nil
	}
}

func metaOf(obj any) (*metav1.PartialObjectMetadata, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("storing a namespace: %T is no metadata", obj)
	}
	return m, nil
}

func kept(labels map[string]string) map[string]string {
	var out map[string]string
	for k, v := range labels {
		if !strings.HasPrefix(k, prefix) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}
