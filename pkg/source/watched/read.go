// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

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
