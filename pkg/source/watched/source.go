// SPDX-License-Identifier: Apache-2.0

// Package watched is a live cluster in memory. Each List of a new kind begins a watch; later ones are answered from
// memory, without a request. So whoever reads the same data again reads what changed in the meantime, and it is read in
// the same way. The objects in memory are compressed.
package watched

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
)

// Source is a cluster in memory. It implements source.Source. Its watches end with the context of New.
type Source struct {
	*cluster.Cluster
	options Options
	begin   func(*collection)
	common  *common
	running sync.WaitGroup

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
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := NewPacker()
	s := &Source{Cluster: c, options: o, collections: map[watch]*collection{},
		asked: map[watch]map[question]selector{}}
	s.begin = func(c *collection) {
		watching, stop := context.WithCancel(ctx)
		c.stop = stop
		s.running.Go(func() { c.run(watching) })
	}
	s.common = &common{cluster: c, options: o, packer: p, changed: s.changed, coverageChanged: s.coverageChanged}
	return s, err
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

// Continue continues the recording that began with the last Begin.
func (s *Source) Continue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recording = true
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
	return len(s.collections), s.common.restarts.Load()
}

// CurrentAt returns the time until which the changes of all watches arrived: now, unless a watch was interrupted and
// its objects still count as current.
func (s *Source) CurrentAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Now()
	out := now
	for _, c := range s.collections {
		if when := c.currentAt(now); when.Before(out) {
			out = when
		}
	}
	return out
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
		c, begun := s.collection(q, namespace, selected, yield)
		if begun && c.arrivals != nil {
			return c.passed(ctx)
		}
		r := reader{collection: c, selected: selected, remembered: q.Remembered, only: q.Only, yield: yield}
		return r.read(ctx, namespace)
	})
}

// collection returns the collection that answers a query in a namespace. If there is none, it begins a watch. If the
// query remembers objects, yield receives the objects of the first list of this watch as they arrive.
func (s *Source) collection(q source.Query, namespace string, selected selector,
	yield func(source.Object) error) (c *collection, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watchOf(q, namespace, selected)
	if c = s.answering(w); c == nil {
		c, begun = &collection{common: s.common, watch: w, objects: map[objectName]stored{},
			known: make(chan struct{}), closed: s.options.Now()}, true
		if w.slim {
			c.arrivals = &arrivals{remembered: q.Remembered, yield: yield}
		}
		s.collections[w] = c
		s.begin(c)
	}
	c.used = s.turn
	if s.recording {
		if s.asked[c.watch] == nil {
			s.asked[c.watch] = map[question]selector{}
		}
		s.asked[c.watch][question{q.Kind, q.LabelSelector, q.FieldSelector, q.MetadataOnly}] = selected
	}
	return c, begun
}

// answering returns the collection that has the objects of w; nil if there is none. Of several, it is the one with the
// narrowest watch. The caller holds mu.
func (s *Source) answering(w watch) *collection {
	for _, wider := range w.wider() {
		if c := s.collections[wider]; c != nil && (c.namespace == w.namespace || c.unread() == nil) {
			return c
		}
	}
	return nil
}

// Drop drops the content of an object that the reader remembers.
func (s *Source) Drop(kind schema.GroupVersionKind, namespace, name string,
	remembered func(namespace, name, version string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w, c := range s.collections {
		if w.slim && w.has(kind, namespace) {
			c.drop(objectName{namespace, name}, func(n objectName, version string) bool {
				return remembered(n.namespace, n.name, version)
			})
		}
	}
}

// Object returns the present state of an object of a kind that was listed since Begin, or its metadata if only these
// were listed; without content if that was dropped. found is false if it does not exist. The error states why that is
// not known.
func (s *Source) Object(kind schema.GroupVersionKind, namespace, name string) (o source.Object, found bool, err error) {
	c := s.ofKind(kind, namespace)
	if c == nil {
		return o, false, fmt.Errorf("no list of %s is in memory", kind.Kind)
	}
	if f := c.unread(); f != nil {
		return o, false, &cluster.FailureError{Failure: *f}
	}
	c.mu.Lock()
	kept, found := c.objects[objectName{namespace, name}]
	c.mu.Unlock()
	switch {
	case !found:
		return o, false, nil
	case kept.packed == nil:
		return withoutContent(c.watch, objectName{namespace, name}, kept.version), true, nil
	}
	o, _, err = c.unpack(kept, nil)
	return o, true, err
}

// ofKind returns the collection in which most objects of a kind are, with all fields if possible.
func (s *Source) ofKind(kind schema.GroupVersionKind, namespace string) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out *collection
	for w, c := range s.collections {
		if !w.has(kind, namespace) || c.used < s.turn {
			continue
		}
		if out == nil || w.width() > out.width() {
			out = c
		}
	}
	return out
}

// changed reports a change of an object. now are its traits after the change; nil if it does not exist any more.
func (s *Source) changed(c *collection, name objectName, before stored, existed bool, now *traits) {
	c.mu.Lock()
	listed := c.listed
	c.mu.Unlock()
	if !listed || s.options.Changed == nil {
		return
	}
	s.mu.Lock()
	asked := maps.Clone(s.asked[c.watch]) // a List may add a query meanwhile
	s.mu.Unlock()
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
		selectedNow := now != nil && selected.matches(name, func() traits { return *now })
		if selectedNow || existed && selected.matches(name, was) {
			out.Asked = append(out.Asked, q.query())
		}
	}
	s.options.Changed(out)
}

// coverageChanged reports that the objects of a collection can be read again, or cannot be read any more.
func (s *Source) coverageChanged(c *collection) {
	if s.options.Changed == nil {
		return
	}
	go func() { // the caller may hold locks
		c.mu.Lock()
		out := Change{Kind: c.kind, Since: c.closed}
		c.mu.Unlock()
		s.mu.Lock()
		for q := range s.asked[c.watch] {
			out.Asked = append(out.Asked, q.query())
		}
		s.mu.Unlock()
		s.options.Changed(out)
	}()
}
