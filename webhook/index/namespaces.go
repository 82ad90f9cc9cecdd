// SPDX-License-Identifier: Apache-2.0

package index

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
)

// labelPrefix begins the labels that are ownLabels.
const labelPrefix = "fleetdoctor.io/"

// Namespaces knows the namespaces. It may be asked while it runs.
type Namespaces struct {
	reflector *cache.Reflector
	log       logr.Logger
	store     namespaceStore
}

// New makes a Namespaces. It makes no request.
func NewNamespaces(client metadata.Interface, log logr.Logger) *Namespaces {
	w := &Namespaces{log: log, store: namespaceStore{labels: map[string]map[string]string{}}}
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
			return w.store.state.wrap(from, o, func(e watch.Event) watch.Event { return e }), nil
		},
	}, client)
	w.reflector = cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, &w.store, cache.ReflectorOptions{
		Logger: &log, Name: "namespaces", TypeDescription: "namespaces", Backoff: newBackoff()})
	return w
}

// Start watches until ctx is done, and returns nil. It is called once.
func (w *Namespaces) Start(ctx context.Context) error {
	w.reflector.RunWithContext(klog.NewContext(ctx, w.log))
	return nil
}

// NeedLeaderElection says that every replica watches: each answers requests.
func (w *Namespaces) NeedLeaderElection() bool { return false }

// Synced says whether every namespace was read once. It stays true when the API server is lost later; what was read stays too.
func (w *Namespaces) Synced() bool { return w.store.synced.Load() }

// Live says whether it hears of changes as they happen. Where it does not, a label may have changed meanwhile.
func (w *Namespaces) Live() bool { return w.store.state.live() }

// Labels returns the labels of a namespace whose keys begin with "fleetdoctor.io/", which is nil where it has none or is not there; the
// caller does not change them.
func (w *Namespaces) Labels(name string) map[string]string {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	return w.store.labels[name]
}

// namespaceStore is where the reflector stores. The maps of labels are never changed, but replaced.
type namespaceStore struct {
	state  watchState
	synced atomic.Bool
	mu     sync.RWMutex
	labels map[string]map[string]string // by namespace
}

// Add implements cache.ReflectorStore, as do those that follow.
func (s *namespaceStore) Add(obj any) error {
	m, err := namespaceMeta(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels[m.Name] = ownLabels(m.Labels)
	return nil
}

// Update is Add.
func (s *namespaceStore) Update(obj any) error { return s.Add(obj) }

// Delete forgets a namespace.
func (s *namespaceStore) Delete(obj any) error {
	m, err := namespaceMeta(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.labels, m.Name)
	return nil
}

// Replace takes a whole list.
func (s *namespaceStore) Replace(list []any, _ string) error {
	labels := make(map[string]map[string]string, len(list))
	for _, obj := range list {
		m, err := namespaceMeta(obj)
		if err != nil {
			return err
		}
		labels[m.Name] = ownLabels(m.Labels)
	}
	s.mu.Lock()
	s.labels = labels
	s.mu.Unlock()
	s.state.listed() // before it is ready, and relied upon
	s.synced.Store(true)
	return nil
}

// Resync has nothing to do: nothing is forgotten.
func (s *namespaceStore) Resync() error { return nil }

// Transformer implements cache.TransformingStore: the most of a namespace's metadata is who wrote it.
func (s *namespaceStore) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		m, err := namespaceMeta(obj)
		if err != nil {
			return nil, err
		}
		m.ManagedFields = nil
		return m, nil
	}
}

func namespaceMeta(obj any) (*metav1.PartialObjectMetadata, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("storing a namespace: %T is no metadata", obj)
	}
	return m, nil
}

func ownLabels(labels map[string]string) map[string]string {
	var out map[string]string
	for k, v := range labels {
		if !strings.HasPrefix(k, labelPrefix) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}
