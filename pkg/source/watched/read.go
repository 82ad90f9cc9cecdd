// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// reader reads the selected objects of a collection.
type reader struct {
	*collection
	selected selector
	// remembered is source.Query.Remembered.
	remembered func(namespace, name, version string) bool
	// only is source.Query.Only.
	only   []types.NamespacedName
	yield  func(source.Object) error
	buffer []byte
}

// read yields the selected objects of a namespace, or of all (""). The failure is why they are not known.
func (r *reader) read(ctx context.Context, namespace string) (*source.Failure, error) {
	if f, err := r.isKnown(ctx); f != nil || err != nil {
		return f, err
	}
	all := r.candidates(namespace)
	var dropped []objectName
	for name, o := range all {
		switch {
		case r.remembers(name, o.version):
			if err := r.yield(withoutContent(r.watch, name, o.version)); err != nil {
				return nil, err
			}
		case o.packed == nil:
			dropped = append(dropped, name)
			continue
		default:
			if err := r.unpackAndYield(name, o); err != nil {
				return nil, err
			}
		}
		if r.slim {
			r.drop(name, r.remembers)
		}
	}
	if len(dropped) > 0 {
		return r.fetch(ctx, namespace, dropped)
	}
	return nil, ctx.Err()
}

// passed waits until the arriving objects were passed. The failure is why they are not known.
func (c *collection) passed(ctx context.Context) (*source.Failure, error) {
	f, err := c.isKnown(ctx)
	later, interrupted := c.arrivals.end()
	for _, name := range later {
		c.changed(c, name, stored{}, true, nil)
	}
	if err == nil {
		err = interrupted
	}
	return f, err
}

// isKnown waits until the objects, or the failure, are known for the first time.
func (c *collection) isKnown(ctx context.Context) (*source.Failure, error) {
	select {
	case <-c.known:
		return c.unread(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// candidates returns the objects of a namespace, or of all (""), that may be selected.
func (r *reader) candidates(namespace string) map[objectName]stored {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[objectName]stored{}
	add := func(name objectName, o stored) {
		in := namespace == "" || name.namespace == namespace
		if in && r.selected.mayMatch(name) {
			out[name] = o
		}
	}
	if len(r.only) == 0 {
		for name, o := range r.objects {
			add(name, o)
		}
	}
	for _, n := range r.only {
		name := objectName{n.Namespace, n.Name}
		if o, exists := r.objects[name]; exists {
			add(name, o)
		}
	}
	return out
}

func (r *reader) remembers(name objectName, version string) bool {
	return r.remembered != nil && r.remembered(name.namespace, name.name, version)
}

// withoutContent returns an object of which the reader remembers the content.
func withoutContent(w watch, name objectName, version string) source.Object {
	m := &object.Meta{}
	m.Metadata.Namespace, m.Metadata.Name, m.Metadata.ResourceVersion = name.namespace, name.name, version
	return source.Object{Item: object.Item{Meta: m}, Kind: w.kind, Remembered: true}
}

// unpackAndYield yields an object if it is selected.
func (r *reader) unpackAndYield(name objectName, o stored) (err error) {
	var unpacked source.Object
	unpacked, r.buffer, err = r.unpack(o, r.buffer)
	traits := func() traits { return traitsOf(r.kind, unpacked.Raw, unpacked.Meta) }
	if err != nil || !r.selected.matches(name, traits) {
		return err
	}
	return r.yield(unpacked)
}

// unpack returns an object with its metadata. It returns the buffer for the next one.
func (c *collection) unpack(o stored, buffer []byte) (source.Object, []byte, error) {
	unpacked, buffer, err := c.packer.Unpack(o.packed, buffer)
	if err == nil {
		unpacked.Meta, err = object.ReadMeta(unpacked.Raw)
	}
	return source.Object{Item: unpacked, Kind: c.kind}, buffer, err
}

// drop drops the content of an object that is remembered.
func (c *collection) drop(name objectName, remembered func(name objectName, version string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.objects[name]; o.packed != nil && remembered(name, o.version) {
		c.objects[name] = stored{version: o.version}
	}
}

// maxSingle is up to how many objects are requested one by one. For more, the list is read again.
const maxSingle = 20

// fetch reads objects again whose content was dropped, and yields them.
func (r *reader) fetch(ctx context.Context, namespace string, dropped []objectName) (*source.Failure, error) {
	if len(dropped) > maxSingle {
		q := r.query()
		if namespace != "" {
			q.Namespaces = []string{namespace}
		}
		return r.request(ctx, q, dropped)
	}
	for _, name := range dropped {
		q := r.query()
		q.FieldSelector = "metadata.name=" + name.name
		if name.namespace != "" {
			q.Namespaces = []string{name.namespace}
		}
		if f, err := r.request(ctx, q, []objectName{name}); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// keep keeps the content of an object that was dropped.
func (c *collection) keep(i *item, o source.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.objects[i.objectName()]; now.packed == nil && now.version == i.ResourceVersion {
		c.objects[i.objectName()] = stored{i.ResourceVersion, c.packer.Pack(o.Item)}
	}
}

// request yields those of the objects of a request that were dropped, and keeps them again.
func (r *reader) request(ctx context.Context, q source.Query, dropped []objectName) (*source.Failure, error) {
	wanted := make(map[objectName]bool, len(dropped))
	for _, name := range dropped {
		wanted[name] = true
	}
	cover, err := r.cluster.List(ctx, q, func(o source.Object) error {
		i, err := r.newItem(o)
		if err != nil || !wanted[i.objectName()] {
			return err
		}
		if err := r.yield(o); err != nil || r.remembers(i.objectName(), i.ResourceVersion) {
			return err
		}
		r.keep(i, o)
		return nil
	})
	for _, f := range cover.Failures() {
		return &f, err
	}
	return nil, err
}
