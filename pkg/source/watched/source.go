// SPDX-License-Identifier: Apache-2.0

// Package watched is a live cluster in memory. Each List of a new kind begins a watch; later ones are answered from
// memory, without a request. So whoever reads the same data again reads what changed in the meantime, and it is read in
// the same way. The objects in memory are compressed.
package watched

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/packed"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// Options of a Source. A zero value means the default.
type Options struct {
	// Changed receives each change after the first answer to a List. It is called from several goroutines, and must
	// return soon.
	Changed func(Change)
	// Backoff is the wait of a watch before its next request after a failure.
	Backoff func() *wait.Backoff
	// Grace is how long after the end of a watch the objects count as current; the next watch normally begins at once.
	Grace time.Duration
	// WatchTimeout is how long a watch is open at most; zero for the 5 to 10 minutes of client-go. A server does not end
	// the watches of a user who lost a right.
	WatchTimeout time.Duration
	// Now is the clock.
	Now func() time.Time
}

// DefaultGrace is the default of Options.Grace.
const DefaultGrace = 10 * time.Second

// defaultBackoff is the default of Options.Backoff. A right that was given back is noticed after at most its Cap.
func defaultBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 30 * time.Second}
}

// Change is a change of one object, or of what can be read of a kind.
type Change struct {
	Kind schema.GroupVersionKind
	// Key is the object; its name is empty if the change is that of a coverage.
	Key object.Key
	// Asked are the recorded queries that select the object before or after the change, or the kind.
	Asked []source.Query
}

// Source is a cluster in memory. It implements source.Source. Its watches end with the context of New.
type Source struct {
	*cluster.Cluster
	options  Options
	ctx      context.Context
	packer   *packed.Packer
	names    *interned
	restarts atomic.Int64
	running  sync.WaitGroup

	mu          sync.Mutex // guards the fields below
	collections map[watch]*collection
	// asked are the queries since Begin, by the watch that answers them; recording is true until End.
	asked     map[watch]map[question]selector
	recording bool
	turn      int
	described *source.Description
}

// question is a query with its namespaces left out: they do not limit what is watched.
type question struct {
	kind           schema.GroupVersionKind
	labels, fields string
	metadataOnly   bool
}

func (q question) query() source.Query {
	return source.Query{Kind: q.kind, LabelSelector: q.labels, FieldSelector: q.fields, MetadataOnly: q.metadataOnly}
}

var _ source.Source = (*Source)(nil)

// New makes a Source of a cluster. It makes no request.
func New(ctx context.Context, c *cluster.Cluster, o Options) (*Source, error) {
	if o.Backoff == nil {
		o.Backoff = defaultBackoff
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := packed.New()
	return &Source{Cluster: c, options: o, ctx: ctx, packer: p, names: &interned{},
		collections: map[watch]*collection{}, asked: map[watch]map[question]selector{}}, err
}

// Describe implements source.Source. It requests the version of the server once.
func (s *Source) Describe(ctx context.Context) (source.Description, error) {
	s.mu.Lock()
	known := s.described
	s.mu.Unlock()
	if known == nil {
		d, err := s.Cluster.Describe(ctx)
		if err != nil {
			return d, err
		}
		known = &d
		s.mu.Lock()
		s.described = known
		s.mu.Unlock()
	}
	out := *known
	out.TakenAt = s.options.Now().UTC()
	return out, nil
}

// Begin begins to record queries: Change.Asked are those that were recorded.
func (s *Source) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.recording = map[watch]map[question]selector{}, true
	s.turn++
}

// End ends the recording, and ends the watches that answered no query since the Begin before the last one.
func (s *Source) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recording = false
	for w, c := range s.collections {
		if c.used < s.turn-1 {
			c.stop()
			delete(s.collections, w)
		}
	}
}

// Wait waits until all watches have ended after the context of New.
func (s *Source) Wait() { s.running.Wait() }

// Watches is the number of watches, and the number of those that ended and were begun again.
func (s *Source) Watches() (running int, restarts int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.collections), s.restarts.Load()
}

// List implements source.Source.
func (s *Source) List(ctx context.Context, q source.Query, yield func(source.Object) error) (source.Coverage, error) {
	kinds, err := s.Kinds(ctx)
	if err != nil {
		return source.Coverage{}, err
	}
	kind, f, ok := kinds.Lookup(q.Kind)
	if !ok {
		return source.NotCovered(f), nil
	}
	selected, err := newSelector(q)
	if err != nil {
		return source.Coverage{}, err
	}
	return source.CoverageOf(q, kind.Namespaced, func(namespace string) (*source.Failure, error) {
		c := s.collection(q, namespace, selected)
		return c.read(ctx, namespace, selected, yield)
	})
}

// collection returns the collection that answers a query in a namespace, and begins its watch if there is none.
func (s *Source) collection(q source.Query, namespace string, selected selector) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watchOf(q, namespace, selected)
	var c *collection
	for _, wider := range w.wider() {
		if other := s.collections[wider]; other != nil && (other.namespace == namespace || other.unread() == nil) {
			c, w = other, wider
			break
		}
	}
	if c == nil {
		c = &collection{Source: s, watch: w, objects: map[objectName]stored{}, known: make(chan struct{})}
		ctx, stop := context.WithCancel(s.ctx)
		c.stop = stop
		s.collections[w] = c
		s.running.Go(func() { c.run(ctx) })
	}
	c.used = s.turn
	if s.recording {
		if s.asked[w] == nil {
			s.asked[w] = map[question]selector{}
		}
		s.asked[w][question{q.Kind, q.LabelSelector, q.FieldSelector, q.MetadataOnly}] = selected
	}
	return c
}

// read yields the selected objects of a namespace, or of all (""). The failure is why they are not known.
func (c *collection) read(ctx context.Context, namespace string, selected selector,
	yield func(source.Object) error) (*source.Failure, error) {
	select {
	case <-c.known:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if f := c.unread(); f != nil {
		return f, nil
	}
	c.mu.Lock()
	all := map[objectName]stored{}
	for name, o := range c.objects {
		in := namespace == "" || name.namespace == namespace
		if in && selected.mayMatch(name) {
			all[name] = o
		}
	}
	c.mu.Unlock()
	var buffer []byte
	for name, o := range all {
		var err error
		if buffer, err = c.yield(name, o, selected, buffer, yield); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// yield yields one object if it is selected. It returns the buffer for the next one.
func (c *collection) yield(name objectName, o stored, selected selector, buffer []byte,
	yield func(source.Object) error) ([]byte, error) {
	unpacked, buffer, err := c.unpack(o, buffer)
	if err != nil || !selected.matches(name, func() traits { return traitsOf(c.kind, unpacked.Raw, unpacked.Meta) }) {
		return buffer, err
	}
	return buffer, yield(unpacked)
}

// unpack returns an object with its metadata. It returns the buffer for the next one.
func (c *collection) unpack(o stored, buffer []byte) (source.Object, []byte, error) {
	unpacked, buffer, err := c.packer.Unpack(o.packed, buffer)
	if err == nil {
		unpacked.Meta, err = object.ReadMeta(unpacked.Raw)
	}
	return source.Object{Item: unpacked, Kind: c.kind}, buffer, err
}

// Object returns the present state of an object of a kind that was listed since Begin, or its metadata if only these
// were listed. found is false if it does not exist.
func (s *Source) Object(kind schema.GroupVersionKind, namespace, name string) (o source.Object, found bool) {
	c := s.ofKind(kind, namespace)
	if c == nil {
		return o, false
	}
	c.mu.Lock()
	kept, ok := c.objects[objectName{namespace, name}]
	c.mu.Unlock()
	if !ok {
		return o, false
	}
	o, _, err := c.unpack(kept, nil)
	return o, err == nil
}

// ofKind returns the collection in which most objects of a kind are, with all fields if possible.
func (s *Source) ofKind(kind schema.GroupVersionKind, namespace string) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out *collection
	for w, c := range s.collections {
		if w.kind != kind || c.used < s.turn || w.namespace != "" && w.namespace != namespace {
			continue
		}
		if out == nil || w.width() > out.width() {
			out = c
		}
	}
	return out
}

// changed reports a change of an object. now are its traits after the change; nil if it does not exist any more.
func (c *collection) changed(name objectName, before stored, existed bool, now *traits) {
	c.mu.Lock()
	listed := c.listed
	c.mu.Unlock()
	if !listed || c.options.Changed == nil {
		return
	}
	c.Source.mu.Lock()
	asked := c.asked[c.watch]
	c.Source.mu.Unlock()
	was := func() traits {
		unpacked, _, err := c.unpack(before, nil)
		if err != nil {
			return traits{}
		}
		return traitsOf(c.kind, unpacked.Raw, unpacked.Meta)
	}
	out := Change{Kind: c.kind, Key: object.Key{Group: c.kind.Group, Kind: c.kind.Kind, Namespace: name.namespace,
		Name: name.name}}
	for q, selected := range asked {
		selects := existed && selected.matches(name, was) ||
			now != nil && selected.matches(name, func() traits { return *now })
		if selects {
			out.Asked = append(out.Asked, q.query())
		}
	}
	c.options.Changed(out)
}

// coverageChanged reports that the objects of a collection can be read again, or cannot be read any more.
func (s *Source) coverageChanged(c *collection) {
	if s.options.Changed == nil {
		return
	}
	go func() { // the caller may hold locks
		s.mu.Lock()
		out := Change{Kind: c.kind}
		for q := range s.asked[c.watch] {
			out.Asked = append(out.Asked, q.query())
		}
		s.mu.Unlock()
		s.options.Changed(out)
	}()
}

// interned keeps each namespace once.
type interned struct{ values sync.Map }

func (i *interned) of(s string) string {
	v, _ := i.values.LoadOrStore(s, s)
	return v.(string)
}
