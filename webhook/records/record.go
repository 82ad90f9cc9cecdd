// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/registry"
)

// statusLabel is where Helm repeats the status of a record, beside the record.
const statusLabel = "status"

// record is a release's Secret without its content: what a reflector wants to know of an object, and the entry.
type record struct {
	metav1.ObjectMeta
	entry *registry.Entry // nil of a bookmark and of one that is gone
}

// GetObjectKind implements runtime.Object.
func (r *record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. An entry is never changed.
func (r *record) DeepCopyObject() runtime.Object {
	out := &record{entry: r.entry}
	r.DeepCopyInto(&out.ObjectMeta)
	return out
}

func recordOf(s *corev1.Secret) *record {
	return &record{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
}

// nameOf is the revision that a Secret is the record of. One that is named like no record stands for itself: it is of no release that Helm
// would find, but what it is for nobody can tell.
func nameOf(o metav1.Object) release.Name {
	n, err := release.ParseSecretName(o.GetNamespace(), o.GetName())
	if err != nil {
		return release.Name{Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	return n
}

// errForeign is said of a record that is, by its own words, of another release than its Secret. What it says is not repeated.
var errForeign = errors.New("it names another release than its secret does")

// reader reads each state of a Secret once: a list that starts again, or one after the API server was lost, brings mostly what is known.
type reader struct {
	log logr.Logger
	// reading is held by the one of all readers that unpacks a record: a record of 1 MiB may unpack to much.
	reading *sync.Mutex

	mu    sync.Mutex // guards known
	known map[cache.ObjectName]state
}

// state is what a Secret was read as.
type state struct {
	uid     types.UID
	version string
	entry   *registry.Entry
}

func newReader(log logr.Logger, reading *sync.Mutex) *reader {
	return &reader{log: log, reading: reading, known: map[cache.ObjectName]state{}}
}

// reduce returns the record of a Secret.
func (r *reader) reduce(s *corev1.Secret) *record {
	out, name := recordOf(s), cache.MetaObjectToName(s)
	r.mu.Lock()
	known, ok := r.known[name]
	r.mu.Unlock()
	if !ok || known.uid != s.UID || known.version != s.ResourceVersion {
		known = state{s.UID, s.ResourceVersion, r.read(s)}
		r.mu.Lock()
		r.known[name] = known
		r.mu.Unlock()
	}
	out.entry = known.entry
	return out
}

// read never fails: a reflector would begin anew, and find the same.
func (r *reader) read(s *corev1.Secret) *registry.Entry {
	name := nameOf(s)
	if s.Labels[statusLabel] == release.StatusSuperseded {
		return registry.Known(name)
	}
	r.reading.Lock()
	entry, err := registry.Read(s.Data[release.DataKey])
	r.reading.Unlock()
	if err == nil && entry.Name != name {
		if entry.Bundle == "" {
			return registry.Known(name) // none of Fleet's, as out of a backup of another namespace
		}
		err = errForeign
	}
	if err != nil {
		r.log.Error(err, "A release record cannot be read", "secret", cache.MetaObjectToName(s).String())
		return registry.Damaged(name)
	}
	return entry
}

func (r *reader) forget(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, cache.MetaObjectToName(s))
}

// keepOnly forgets the Secrets that a whole list did not bring.
func (r *reader) keepOnly(there map[cache.ObjectName]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.known {
		if !there[name] {
			delete(r.known, name)
		}
	}
}
