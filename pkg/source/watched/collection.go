// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// stored is an object in memory.
type stored struct {
	version string       // its resourceVersion
	packed  PackedObject // nil if its content was dropped
}

// common is what all collections share.
type common struct {
	cluster  *cluster.Cluster
	options  Options
	packer   *Packer
	names    interned
	restarts atomic.Int64
	// changed and coverageChanged are called after a change.
	changed         func(c *collection, name objectName, before stored, existed bool, now *traits)
	coverageChanged func(c *collection)
}

// collection has the objects of one watch. A reflector of client-go keeps it current.
type collection struct {
	*common
	watch
	stop context.CancelFunc
	// used is the turn in which a List was answered from it; the mutex of the Source guards it.
	used int
	// arrivals receives the objects of the first list; nil if nobody waits for them.
	arrivals *arrivals

	mu      sync.Mutex // guards the fields below
	objects map[objectName]stored
	// known is closed when the objects, or a failure, are known for the first time.
	known  chan struct{}
	listed bool
	// failure is why the objects could not be read; nil if they could be.
	failure *source.Failure
	// open is true while changes arrive. Otherwise closed is the time when the last watch ended, or when the collection
	// was made. listing is true while a watch lists the objects, which are not known again before its end.
	open, listing bool
	closed        time.Time
	// told is true if it was reported that the objects are not known any more.
	told bool
}

// item is an object on its way to a collection.
type item struct {
	metav1.ObjectMeta
	packed PackedObject
	traits traits
}

// GetObjectKind implements runtime.Object.
func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. A packed object does not change.
func (i *item) DeepCopyObject() runtime.Object {
	out := &item{packed: i.packed, traits: i.traits}
	i.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (i *item) objectName() objectName { return objectName{i.Namespace, i.Name} }

// newItem copies an object without its content. Without metadata, it is a damaged object, which the server cannot have
// sent.
func (c *collection) newItem(o source.Object) (*item, error) {
	m, err := o.ReadMeta()
	if err != nil {
		return nil, err
	}
	out := &item{traits: traitsOf(c.kind, o.Raw, m)}
	out.Namespace, out.Name = c.names.of(m.Metadata.Namespace), strings.Clone(m.Metadata.Name)
	out.ResourceVersion = strings.Clone(m.Metadata.ResourceVersion)
	return out, nil
}

// arrived copies an object that was listed, or that an event reports, with its content if it is needed.
func (c *collection) arrived(event apiwatch.EventType, o source.Object) (*item, error) {
	out, err := c.newItem(o)
	if err != nil {
		return nil, err
	}
	if event != apiwatch.Added {
		c.arrivals.changed(out.objectName())
	} else if c.arrivals.pass(o, out.objectName(), out.ResourceVersion) {
		return out, nil
	}
	out.packed = c.packer.Pack(o.Item)
	return out, nil
}

// run keeps the collection current until ctx ends.
func (c *collection) run(ctx context.Context) {
	log := klog.FromContext(ctx)
	requests := &cache.ListWatch{ListWithContextFunc: c.list, WatchFuncWithContext: c.changes}
	r := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(requests, c), &item{}, c,
		cache.ReflectorOptions{Logger: &log, Name: c.kind.Kind, TypeDescription: c.kind.String(),
			Backoff: c.options.Backoff()})
	r.WatchListPageSize = cluster.DefaultPageSize
	r.RunWithContext(ctx)
}

// list reads one page for the reflector.
func (c *collection) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		// The API server would answer from its cache, which ignores the limit, and send all objects at once.
		o.ResourceVersion = ""
	}
	if o.Continue == "" {
		c.arrivals.begin()
	}
	out := &metainternalversion.List{}
	meta, err := c.cluster.Page(ctx, c.query(), c.namespace, o, func(o source.Object) error {
		i, err := c.arrived(apiwatch.Added, o)
		out.Items = append(out.Items, i)
		return err
	})
	out.ListMeta = meta
	if err != nil {
		c.failed(err)
		return nil, err
	}
	return out, nil
}

// changes opens a watch for the reflector. It may begin with a list.
func (c *collection) changes(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	if c.options.WatchTimeout > 0 {
		o.TimeoutSeconds = new(int64(c.options.WatchTimeout.Seconds()))
	}
	lists := ptr.Deref(o.SendInitialEvents, false)
	if lists {
		c.arrivals.begin()
	}
	w, err := c.cluster.Watch(ctx, c.query(), c.namespace, o)
	if err != nil {
		if !lists { // otherwise the reflector tries a list next
			c.failed(err)
		}
		return nil, err
	}
	c.opened(lists)
	return apiwatch.NewStreamWatcher(&decoder{Watch: w, collection: c},
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// decoder turns the events of a watch into items.
type decoder struct {
	*cluster.Watch
	collection *collection
}

// Decode implements output.Decoder.
func (d *decoder) Decode() (apiwatch.EventType, runtime.Object, error) {
	event, o, err := d.Next()
	if err != nil {
		d.collection.ended()
		return "", nil, err
	}
	switch event {
	case apiwatch.Error:
		d.collection.ended()
		status := &metav1.Status{}
		return event, status, object.Into(o.Raw, status)
	case apiwatch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		err := object.Into(o.Raw, &bookmark)
		return event, &item{ObjectMeta: bookmark.ObjectMeta}, err
	}
	out, err := d.collection.arrived(event, o)
	return event, out, err
}

// Add implements cache.ReflectorStore.
func (c *collection) Add(obj any) error {
	i, ok := obj.(*item)
	if !ok {
		return nil
	}
	name := i.objectName()
	c.mu.Lock()
	before, existed := c.objects[name]
	if existed && before.version == i.ResourceVersion {
		c.mu.Unlock()
		return nil
	}
	c.objects[name] = stored{i.ResourceVersion, i.packed}
	c.mu.Unlock()
	c.changed(c, name, before, existed, &i.traits)
	return nil
}

// Update implements cache.ReflectorStore.
func (c *collection) Update(obj any) error { return c.Add(obj) }

// Delete implements cache.ReflectorStore.
func (c *collection) Delete(obj any) error {
	i, ok := obj.(*item)
	if !ok {
		return nil
	}
	name := i.objectName()
	c.mu.Lock()
	before, existed := c.objects[name]
	delete(c.objects, name)
	c.mu.Unlock()
	if existed {
		c.changed(c, name, before, true, nil)
	}
	return nil
}

// Replace implements cache.ReflectorStore: the list is all objects.
func (c *collection) Replace(list []any, _ string) error {
	present := make(map[objectName]bool, len(list))
	for _, obj := range list {
		if i, ok := obj.(*item); ok {
			present[i.objectName()] = true
			if err := c.Add(i); err != nil {
				return err
			}
		}
	}
	c.mu.Lock()
	gone := map[objectName]stored{}
	for name, o := range c.objects {
		if !present[name] {
			gone[name] = o
			delete(c.objects, name)
		}
	}
	c.mu.Unlock()
	for name, o := range gone {
		c.changed(c, name, o, true, nil)
	}
	c.isListed()
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to do.
func (c *collection) Resync() error { return nil }

// isListed records that all objects are known.
func (c *collection) isListed() {
	c.mu.Lock()
	if !c.listed {
		c.listed = true
		c.firstKnown()
	}
	if c.open, c.listing = c.open || c.listing, false; !c.open { // the watch after a list is opened next
		c.closed = c.options.Now()
	}
	c.recover()
}

// opened records that a watch is open; lists is true if it begins with a list.
func (c *collection) opened(lists bool) {
	c.mu.Lock()
	if lists {
		c.listing = true
		c.mu.Unlock()
		return
	}
	c.open = true
	c.recover()
}

// recover records that the objects can be read. The caller holds mu, which recover unlocks.
func (c *collection) recover() {
	recovered := c.told || c.failure != nil
	c.told, c.failure = false, nil
	c.mu.Unlock()
	if recovered {
		c.coverageChanged(c)
	}
}

// firstKnown ends the wait of the first List. The caller holds mu.
func (c *collection) firstKnown() {
	select {
	case <-c.known:
	default:
		close(c.known)
	}
}

// failed records that the objects cannot be read. While the connection is interrupted, the objects stay as they were
// for some time: reconnecting takes a moment.
func (c *collection) failed(err error) {
	f := cluster.FailureOf(err)
	if apierrors.IsResourceExpired(err) || apierrors.IsTooManyRequests(err) {
		return // the reflector lists again
	}
	c.mu.Lock()
	if f.Reason == source.ReadFailed && c.listed {
		c.mu.Unlock()
		c.expire()
		return
	}
	changed := c.failure == nil || *c.failure != f
	c.failure = &f
	c.firstKnown()
	c.mu.Unlock()
	if changed {
		c.coverageChanged(c)
	}
}

// ended records that a watch ended. If the next one does not follow soon, the objects are no longer current.
func (c *collection) ended() {
	c.mu.Lock()
	if c.open {
		c.closed = c.options.Now()
	}
	c.open, c.listing = false, false
	c.mu.Unlock()
	c.restarts.Add(1)
	c.expire()
}

// expire reports after some time that the objects are not known, unless they are current again.
func (c *collection) expire() {
	time.AfterFunc(c.options.Grace+time.Millisecond, func() {
		c.mu.Lock()
		lost := !c.told && c.interrupted()
		c.told = c.told || lost
		c.mu.Unlock()
		if lost {
			c.coverageChanged(c)
		}
	})
}

// interrupted reports whether changes have not arrived for too long. The caller holds mu.
func (c *collection) interrupted() bool {
	return c.listed && !c.open && c.options.Now().Sub(c.closed) > c.options.Grace
}

// currentAt returns the time until which all changes arrived: now if they arrive, or if it was reported that the
// objects are not known.
func (c *collection) currentAt(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	reported := c.told || c.failure != nil
	if c.open || reported {
		return now
	}
	return c.closed
}

// unread returns why the objects are not known now; nil if they are.
func (c *collection) unread() *source.Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil && c.interrupted() {
		return &source.Failure{Reason: source.ReadFailed,
			Detail: "the watch was interrupted at " + c.closed.UTC().Format(time.RFC3339)}
	}
	return c.failure
}
