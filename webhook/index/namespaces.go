// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"strings"
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

// Namespaces keeps the labels of fleetdoctor.io and its subdomains of all namespaces current. It watches only metadata.
type Namespaces struct {
	reflector *cache.Reflector
	log       logr.Logger
	store     *namespaceStore
}

// NewNamespaces makes a Namespaces. It makes no request.
func NewNamespaces(client metadata.Interface, log logr.Logger) *Namespaces {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithTransformer(reduceNamespace))
	n := &Namespaces{log: log, store: &namespaceStore{Store: store}}
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return namespaces.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := namespaces.Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return n.store.state.wrap(w, o, func(e watch.Event) watch.Event { return e }), nil
		},
	}, client)
	n.reflector = cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, n.store,
		cache.ReflectorOptions{Logger: &log, Name: "namespaces", TypeDescription: "namespaces", Backoff: newBackoff()})
	return n
}

// Start watches until ctx is done, and returns nil. It is called once.
func (n *Namespaces) Start(ctx context.Context) error {
	n.reflector.RunWithContext(klog.NewContext(ctx, n.log))
	return nil
}

// Synced reports whether all namespaces were read once. It stays true while the API server cannot be reached.
func (n *Namespaces) Synced() bool { return n.store.synced.Load() }

// Live reports whether changes are received as they happen. If not, a label may have changed.
func (n *Namespaces) Live() bool { return n.store.state.live() }

// Labels returns the labels of a namespace of fleetdoctor.io and its subdomains; nil if it has none or does not exist.
// Callers must not change the map.
func (n *Namespaces) Labels(name string) map[string]string {
	stored, _, err := n.store.GetByKey(name)
	if m, ok := stored.(*metav1.PartialObjectMetadata); ok && err == nil {
		return m.Labels
	}
	return nil
}

// namespaceStore is the store of the reflector. It records that a list is complete.
type namespaceStore struct {
	cache.Store
	state  watchState
	synced atomic.Bool
}

// Replace implements cache.Store.
func (s *namespaceStore) Replace(list []any, version string) error {
	if err := s.Store.Replace(list, version); err != nil {
		return err
	}
	s.state.listed() // before synced: a caller of Synced may call Live next
	s.synced.Store(true)
	return nil
}

// Transformer implements cache.TransformingStore: the reflector reduces a list while it receives it.
func (s *namespaceStore) Transformer() cache.TransformFunc { return reduceNamespace }

// reduceNamespace keeps the name and the labels of fleetdoctor. Most of the metadata is managedFields.
func reduceNamespace(obj any) (any, error) {
	m, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("storing a namespace: unexpected type %T", obj)
	}
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
	for k, v := range m.Labels {
		domain, _, _ := strings.Cut(k, "/")
		if domain == "fleetdoctor.io" || strings.HasSuffix(domain, ".fleetdoctor.io") {
			metav1.SetMetaDataLabel(&out.ObjectMeta, k, v)
		}
	}
	return out, nil
}
