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

// errNoRoom is said of a record that is sound, but comes when too much is kept already.
var errNoRoom = errors.New("there is no room for what it desires: what all records do takes 100 MiB already")

// maxKept bounds what is kept of all records, in bytes: some 450,000 objects. Whoever may write a record can make claims, and memory is
// everybody's.
const maxKept = 100 << 20

// reader reads each state of a Secret once: a list that starts again, or one after the API server was lost, brings mostly what is known. All
// streams share one, and so what may be kept. Beside that the registry holds, while a list is under way, what the list is about to replace.
type reader struct {
	log  logr.Logger
	most int // bytes that may be kept
	// reading is held while a record is unpacked: one of 1 MiB may unpack to much.
	reading sync.Mutex

	mu    sync.Mutex // guards known and kept
	known map[cache.ObjectName]state
	kept  int // bytes, of all that is known
}

// state is what a Secret was read as.
type state struct {
	uid     types.UID
	version string
	entry   *registry.Entry
}

func newReader(log logr.Logger) *reader {
	return &reader{log: log, most: maxKept, known: map[cache.ObjectName]state{}}
}

// reduce returns the record of a Secret. One for which there is no room counts as damaged. It is read again when it changes, and with the next
// list; that there is room again does not make it so.
func (r *reader) reduce(s *corev1.Secret) *record {
	out, name := recordOf(s), cache.MetaObjectToName(s)
	r.mu.Lock()
	known, ok := r.known[name]
	r.mu.Unlock()
	if !ok || known.uid != s.UID || known.version != s.ResourceVersion {
		known = state{s.UID, s.ResourceVersion, r.read(s)}
		if !r.keep(name, known) {
			known.entry = r.damaged(s, errNoRoom)
		}
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
		return r.damaged(s, err)
	}
	return entry
}

func (r *reader) damaged(s *corev1.Secret, err error) *registry.Entry {
	r.log.Error(err, "A release record cannot be read", "secret", cache.MetaObjectToName(s).String())
	return registry.Damaged(nameOf(s))
}

// keep makes a state the one that is known of a Secret. Without room for it none is.
func (r *reader) keep(name cache.ObjectName, s state) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(name)
	if r.kept+s.entry.Bytes > r.most {
		return false
	}
	r.known[name] = s
	r.kept += s.entry.Bytes
	return true
}

// drop is called with mu held.
func (r *reader) drop(name cache.ObjectName) {
	if s, ok := r.known[name]; ok {
		r.kept -= s.entry.Bytes
		delete(r.known, name)
	}
}

func (r *reader) forget(s *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(cache.MetaObjectToName(s))
}

// keepOnly forgets the Secrets of a namespace that a whole list of it did not bring; the namespace "" stands for all.
func (r *reader) keepOnly(namespace string, there map[cache.ObjectName]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.known {
		if (namespace == "" || name.Namespace == namespace) && !there[name] {
			r.drop(name)
		}
	}
}
