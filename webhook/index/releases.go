// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Releases keeps an Index current. It reduces each Secret to a Revision on arrival, so that only a few Secrets are in
// memory at a time.
type Releases struct {
	watches []*releaseWatch
	reader  *recordReader
	log     logr.Logger
}

// NewReleases makes a Releases for the release records of some namespaces; none means all. The Index must be made for
// the same namespaces. The rate limit of a client applies to the pages of lists: if the API server cannot stream lists,
// a client with client-go's default of five requests per second needs two seconds for a hundred records.
func NewReleases(client typedcorev1.SecretsGetter, namespaces []string, into *Index, log logr.Logger) *Releases {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	r := &Releases{log: log, reader: newRecordReader(into, log, fetcherOf(client))}
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		r.watches = append(r.watches, newReleaseWatch(client, ns, r.reader))
	}
	return r
}

// fetchTimeout bounds the wait for one Secret, because no other record is read during this wait.
const fetchTimeout = 2 * time.Second

// fetcherOf returns a fetcher. It lists, because the role does
// not allow the verb get.
func fetcherOf(client typedcorev1.SecretsGetter) fetcher {
	return func(ctx context.Context, name cache.ObjectName) (*corev1.Secret, error) {
		ctx, stop := context.WithTimeout(ctx, fetchTimeout)
		defer stop()
		selector := fields.AndSelectors(releaseSecrets, fields.OneTermEqualSelector("metadata.name", name.Name))
		list, err := client.Secrets(name.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
		if err != nil || len(list.Items) == 0 {
			return nil, err
		}
		return &list.Items[0], nil
	}
}

// Start watches until ctx is done, and returns nil. It is called once.
func (r *Releases) Start(ctx context.Context) error {
	ctx = klog.NewContext(ctx, r.log)
	var running sync.WaitGroup
	running.Go(func() { r.reader.run(ctx) })
	for _, w := range r.watches {
		running.Go(func() { w.reflector.RunWithContext(ctx) })
	}
	running.Wait()
	return nil
}

// Synced reports whether all records were read once. It stays true while the API server cannot be reached.
func (r *Releases) Synced() bool {
	return !slices.ContainsFunc(r.watches, func(w *releaseWatch) bool { return !w.state.synced.Load() })
}

// Live reports whether changes are received as they happen, and all received records of a namespace are read; the
// namespace "" means all. If not, the Index may be out of date.
func (r *Releases) Live(namespace string) bool {
	behind := func(w *releaseWatch) bool { return !w.state.live() }
	return !slices.ContainsFunc(r.watches, behind) && !r.reader.behindIn(namespace)
}

// Waiting is the number of records that were received and are not read yet.
func (r *Releases) Waiting() int { return r.reader.waiting() }

// LastMessage returns the time of the API server's last message about the namespace with the oldest one. Without
// changes the API server sends a bookmark about once a minute. The time is zero until a message about each namespace
// was received.
func (r *Releases) LastMessage() time.Time {
	var oldest time.Time
	for i, w := range r.watches {
		nanoseconds := w.lastMessage.Load()
		if nanoseconds == 0 {
			return time.Time{}
		}
		if t := time.Unix(0, nanoseconds); i == 0 || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}

// pageSize is the limit of a list if the API server cannot stream lists. A whole page is in memory, more than once: a
// page of client-go's 500 Secrets can use 500 MiB.
const pageSize = 10

// releaseSecrets selects release records on the API server.
var releaseSecrets = fields.OneTermEqualSelector("type", release.SecretType)

// releaseWatch watches the release records of one namespace, or of all. It is the source and the store of a reflector.
type releaseWatch struct {
	*recordReader
	namespace string
	secrets   typedcorev1.SecretInterface
	reflector *cache.Reflector

	state       watchState
	lastMessage atomic.Int64 // nanoseconds since 1970
}

func newReleaseWatch(client typedcorev1.SecretsGetter, namespace string, reader *recordReader) *releaseWatch {
	w := &releaseWatch{recordReader: reader, namespace: namespace, secrets: client.Secrets(namespace)}
	// The fakes of client-go cannot stream lists; ToListWatcherWithWatchListSemantics asks the client.
	requests := &cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}
	source := cache.ToListWatcherWithWatchListSemantics(requests, client)
	w.reflector = cache.NewReflectorWithOptions(source, &record{}, w, cache.ReflectorOptions{Logger: &reader.log,
		Name: "release records", TypeDescription: "release records of " + cmp.Or(namespace, "all namespaces"),
		Backoff: newBackoff()})
	w.reflector.WatchListPageSize = pageSize
	return w
}

// list reads one page.
func (w *releaseWatch) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.FieldSelector = releaseSecrets.String()
	if o.ResourceVersion == "0" {
		// The API server would answer from its cache, which ignores the limit, and send all Secrets at once.
		o.ResourceVersion = ""
	}
	page, err := w.secrets.List(ctx, o)
	if err != nil {
		return nil, err
	}
	w.received()
	out := &metainternalversion.List{ListMeta: page.ListMeta, Items: make([]runtime.Object, 0, len(page.Items))}
	for i := range page.Items {
		listed := recordOf(&page.Items[i])
		listed.revision = w.listed(&page.Items[i])
		out.Items = append(out.Items, listed)
		page.Items[i] = corev1.Secret{} // frees it while the others are read
	}
	return out, nil
}

// watch opens a watch. It may begin with a list.
func (w *releaseWatch) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.FieldSelector = releaseSecrets.String()
	source, err := w.secrets.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return w.state.wrap(source, o, w.reduce), nil
}

// reduce replaces the Secret of an event by a record.
func (w *releaseWatch) reduce(e watch.Event) watch.Event {
	secret, ok := e.Object.(*corev1.Secret)
	if !ok {
		return e // an error
	}
	w.received()
	reduced := recordOf(secret)
	switch e.Type {
	case watch.Added, watch.Modified:
		if w.state.live() {
			w.changed(secret)
		} else { // in the list at the beginning of a watch
			reduced.revision = w.listed(secret)
		}
	case watch.Deleted:
		w.forget(secret)
	default: // a bookmark; an annotation marks the end of the list
		reduced.Annotations = secret.Annotations
	}
	e.Object = reduced
	return e
}

func (w *releaseWatch) received() { w.lastMessage.Store(time.Now().UnixNano()) }

// Add implements cache.ReflectorStore.
func (w *releaseWatch) Add(obj any) error {
	if r, ok := obj.(*record); ok {
		w.stored(r)
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (w *releaseWatch) Update(obj any) error { return w.Add(obj) }

// Delete implements cache.ReflectorStore.
func (w *releaseWatch) Delete(obj any) error {
	if r, ok := obj.(*record); ok {
		w.deleted(r)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (w *releaseWatch) Replace(list []any, _ string) error {
	revisions := make([]*Revision, 0, len(list))
	present := make(map[cache.ObjectName]bool, len(list))
	for _, obj := range list {
		if r, ok := obj.(*record); ok {
			revisions = append(revisions, r.revision)
			present[cache.MetaObjectToName(r)] = true
		}
	}
	w.keepOnly(w.namespace, present)
	w.into.Replace(w.namespace, revisions)
	w.state.listed()
	return nil
}

// Resync implements cache.ReflectorStore. The index needs no resync.
func (w *releaseWatch) Resync() error { return nil }

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
func (n *Namespaces) Synced() bool { return n.store.state.synced.Load() }

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
	state watchState
}

// Replace implements cache.Store.
func (s *namespaceStore) Replace(list []any, version string) error {
	if err := s.Store.Replace(list, version); err != nil {
		return err
	}
	s.state.listed()
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

// newBackoff is the wait of a reflector before its next request after a failure. The default of client-go grows to a
// minute, and the index would stay old for that long after the API server came back.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// watchState is the state of a reflector's watch: whether changes are received as they happen.
type watchState struct {
	current atomic.Pointer[mappedWatch]
	synced  atomic.Bool // a list was complete
}

// mappedWatch maps the events of a watch. Unlike output.Filter it ends when it is stopped, also while it has an event
// that nobody receives.
type mappedWatch struct {
	*watch.ProxyWatcher
	// complete is true if the state before the first change is known.
	complete atomic.Bool
}

// live reports whether a watch is open, and the list before it is complete. client-go's pings discover a connection
// that hangs, within 45 seconds.
func (s *watchState) live() bool {
	w := s.current.Load()
	return w != nil && w.complete.Load()
}

// mapping maps an event of a watch.
type mapping func(watch.Event) watch.Event

// wrap returns a watch with the events of the source, mapped by f. The source was opened with the options.
func (s *watchState) wrap(source watch.Interface, o metav1.ListOptions, f mapping) watch.Interface {
	events := make(chan watch.Event)
	w := &mappedWatch{ProxyWatcher: watch.NewProxyWatcher(events)}
	w.complete.Store(!ptr.Deref(o.SendInitialEvents, false)) // otherwise it starts with a list
	s.current.Store(w)
	go func() {
		defer s.current.CompareAndSwap(w, nil) // unless the next watch is open already
		defer close(events)
		defer source.Stop()
		for {
			select {
			case e, ok := <-source.ResultChan():
				if !ok {
					return
				}
				select {
				case events <- f(e):
				case <-w.StopChan():
					return
				}
			case <-w.StopChan():
				return
			}
		}
	}()
	return w
}

// listed reports that a list is complete. If a watch began with the list, its changes follow.
func (s *watchState) listed() {
	if w := s.current.Load(); w != nil {
		w.complete.Store(true)
	}
	s.synced.Store(true) // last: a caller of Synced may call Live next
}
