// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"hash/maphash"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Remembered returns a function that reports whether a live object of a kind is known to be as desired in a
// resourceVersion, or not to matter: its content is not needed then. It is nil without a Memory.
func (e *Evaluator) Remembered(kind schema.GroupVersionKind) func(namespace, name, version string) bool {
	m := e.options.Memory
	if m == nil {
		return nil
	}
	return func(namespace, name, version string) bool {
		key := object.Key{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}
		digest, ok := e.digest(e.cluster.Of(key), kind, version)
		return ok && m.has(m.id(kind, namespace, name), digest)
	}
}

// remember records what was observed of a live object, if it is as desired or does not matter.
func (e *Evaluator) remember(kind schema.GroupVersionKind, meta *object.Meta, desired []*desired.Object,
	seen Observation) {
	m := e.options.Memory
	if m == nil {
		return
	}
	digest, ok := e.digest(desired, kind, meta.Metadata.ResourceVersion)
	m.set(m.id(kind, meta.Metadata.Namespace, meta.Metadata.Name), digest,
		ok && reflect.DeepEqual(seen, e.asDesired(desired)))
}

// forget forgets an object that does not exist.
func (e *Evaluator) forget(kind schema.GroupVersionKind, key object.Key) {
	if m := e.options.Memory; m != nil {
		m.set(m.id(kind, key.Namespace, key.Name), 0, false)
	}
}

// asDesired returns the observation of a live object that is ready and as desired; of one that is not desired, that it
// does not matter.
func (e *Evaluator) asDesired(desired []*desired.Object) Observation {
	var out Observation
	for _, d := range desired {
		o := newObject(d)
		o.State, o.Metadata = Ready, e.cluster.Deployment(d.Deployment).Ownership
		out.Objects = append(out.Objects, o)
	}
	return out
}

// digest identifies a version of a live object and everything with which it is compared. ok is false if not all of that
// is known, or if other bundle deployments matter.
func (e *Evaluator) digest(desired []*desired.Object, kind schema.GroupVersionKind, version string) (digest uint64,
	ok bool) {
	if len(desired) == 0 {
		return maphash.String(e.options.Memory.seed, version), true
	}
	o := desired[0]
	with := e.comparedWith[o.Deployment]
	switch {
	case len(desired) > 1, !e.evaluates(o, kind), o.Raw == nil, len(o.Unstable) > 0, with == nil:
		return 0, false
	}
	var h maphash.Hash
	h.SetSeed(e.options.Memory.seed)
	for _, part := range [][]byte{with, []byte(version), {0}, o.Raw} {
		_, _ = h.Write(part) // it never fails
	}
	return h.Sum64(), true
}
