// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// pageSize is the limit of a list where the API server streams none. A page is in memory whole, and more than once: of client-go's 500 a page
// of Secrets could have 500 MiB.
const pageSize = 10

// releaseSecrets narrows on the API server what is sent.
var releaseSecrets = fields.OneTermEqualSelector("type", release.SecretType)

// stream keeps the registry filled from one namespace, or from all. It is what the reflector lists and watches with, and where it stores.
type stream struct {
	*reader
	namespace string
	secrets   typedcorev1.SecretInterface
	reflector *cache.Reflector

	state  watchState
	synced atomic.Bool
	heard  atomic.Int64 // nanoseconds since 1970
}

func newStream(client Client, namespace string, log logr.Logger, shared *reader) *stream {
	s := &stream{reader: shared, namespace: namespace, secrets: client.CoreV1().Secrets(namespace)}
	// Client-go's fakes stream no lists, and say so through the client.
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}, client)
	s.reflector = cache.NewReflectorWithOptions(source, &record{}, s, cache.ReflectorOptions{
		Logger: &log, Name: "release records", TypeDescription: "release records of " + placeOf(namespace), Backoff: newBackoff()})
	s.reflector.WatchListPageSize = pageSize
	return s
}

func placeOf(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return "namespace " + namespace
}

func (s *stream) run(ctx context.Context) { s.reflector.RunWithContext(ctx) }

// list reads one page.
func (s *stream) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.FieldSelector = releaseSecrets.String()
	if o.ResourceVersion == "0" {
		// "Any state will do" is answered from the API server's cache, which knows no limit: all would come at once.
		o.ResourceVersion = ""
	}
	page, err := s.secrets.List(ctx, o)
	if err != nil {
		return nil, err
	}
	s.hear()
	out := &metainternalversion.List{ListMeta: page.ListMeta, Items: make([]runtime.Object, 0, len(page.Items))}
	for i := range page.Items {
		listed := recordOf(&page.Items[i])
		listed.entry = s.listed(&page.Items[i])
		out.Items = append(out.Items, listed)
		page.Items[i] = corev1.Secret{} // done with, while the others are read
	}
	return out, nil
}

// watch opens a watch, which may begin with a list.
func (s *stream) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.FieldSelector = releaseSecrets.String()
	w, err := s.secrets.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.state.wrap(w, o, s.event), nil
}

// event reduces what a watch says.
func (s *stream) event(e watch.Event) watch.Event {
	secret, ok := e.Object.(*corev1.Secret)
	if !ok {
		return e // an error
	}
	s.hear()
	switch e.Type {
	case watch.Added, watch.Modified:
		changed := recordOf(secret)
		if s.state.live() {
			s.changed(secret)
		} else { // the watch begins with a list
			changed.entry = s.listed(secret)
		}
		e.Object = changed
	case watch.Deleted:
		s.forget(secret)
		e.Object = recordOf(secret)
	default: // a bookmark, whose annotation may say that a list is complete
		bookmark := recordOf(secret)
		bookmark.Annotations = secret.Annotations
		e.Object = bookmark
	}
	return e
}

func (s *stream) hear() { s.heard.Store(time.Now().UnixNano()) }

// Add implements cache.ReflectorStore, as do those that follow.
func (s *stream) Add(obj any) error {
	r, ok := obj.(*record)
	if !ok {
		return fmt.Errorf("storing a release record: %T is none", obj)
	}
	s.stored(r)
	return nil
}

// Update is Add.
func (s *stream) Update(obj any) error { return s.Add(obj) }

// Delete forgets a revision.
func (s *stream) Delete(obj any) error {
	r, ok := obj.(*record)
	if !ok {
		return fmt.Errorf("deleting a release record: %T is none", obj)
	}
	s.deleted(r)
	return nil
}

// Replace takes a whole list.
func (s *stream) Replace(list []any, _ string) error {
	entries := make([]*registry.Entry, 0, len(list))
	there := make(map[cache.ObjectName]bool, len(list))
	for _, obj := range list {
		r, ok := obj.(*record)
		if !ok {
			return fmt.Errorf("storing release records: %T is none", obj)
		}
		entries = append(entries, r.entry)
		there[cache.MetaObjectToName(r)] = true
	}
	s.keepOnly(s.namespace, there)
	s.into.Replace(s.namespace, entries)
	s.state.listed() // before it is ready, and relied upon
	s.synced.Store(true)
	return nil
}

// Resync has nothing to do: the registry forgets nothing.
func (s *stream) Resync() error { return nil }
