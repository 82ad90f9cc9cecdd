// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
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
)

// pageSize is the limit of a list if the API server cannot stream lists. A whole page is in memory, more than once: a page
// of client-go's 500 Secrets can use 500 MiB.
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
	synced      atomic.Bool
	lastMessage atomic.Int64 // nanoseconds since 1970
}

func newReleaseWatch(client typedcorev1.SecretsGetter, namespace string, log logr.Logger, reader *recordReader) *releaseWatch {
	w := &releaseWatch{recordReader: reader, namespace: namespace, secrets: client.Secrets(namespace)}
	// The fakes of client-go cannot stream lists; ToListWatcherWithWatchListSemantics asks the client.
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}, client)
	w.reflector = cache.NewReflectorWithOptions(source, &record{}, w, cache.ReflectorOptions{
		Logger: &log, Name: "release records", TypeDescription: "release records of " + cmp.Or(namespace, "all namespaces"), Backoff: newBackoff()})
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
	w.state.listed() // before synced: a caller of Synced may call Live next
	w.synced.Store(true)
	return nil
}

// Resync implements cache.ReflectorStore. The index needs no resync.
func (w *releaseWatch) Resync() error { return nil }
