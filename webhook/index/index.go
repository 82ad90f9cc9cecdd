// SPDX-License-Identifier: Apache-2.0

// Package index keeps an index of desired objects and the labels of namespaces current: it watches Secrets of type
// helm.sh/release.v1, and Namespaces. It answers from memory.
//
// The index keeps its content while the API server cannot be reached: an old answer is better than none.
// Releases.LastMessage returns its age.
package index

import (
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Revision is a revision of a release with the keys of its objects.
type Revision = desired.Revision

// Index is a desired.Index that is safe for concurrent use.
type Index struct {
	partial bool

	mu       sync.RWMutex
	releases *desired.Index
}

// New makes an empty Index for the release records of some namespaces; none means all.
func New(namespaces ...string) *Index {
	return &Index{partial: len(namespaces) > 0, releases: desired.New()}
}

// Set adds or replaces a revision.
func (x *Index) Set(r *Revision) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releases.Set(r)
}

// Delete removes a revision.
func (x *Index) Delete(n release.Name) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.releases.Delete(n)
}

// Replace replaces all revisions of a namespace; the namespace "" means all. It locks for one release at a time, so
// that admission requests do not wait for all releases.
func (x *Index) Replace(namespace string, revisions []*Revision) {
	byRelease := map[string][]*Revision{}
	x.mu.RLock()
	for name := range x.releases.Releases() {
		if namespace == "" || strings.HasPrefix(name, namespace+"/") {
			byRelease[name] = nil
		}
	}
	x.mu.RUnlock()
	for _, r := range revisions {
		name := r.Name.Release()
		byRelease[name] = append(byRelease[name], r)
	}
	for name, all := range byRelease {
		x.mu.Lock()
		x.releases.SetRelease(name, all)
		x.mu.Unlock()
	}
}

// Lookup returns the releases that desire an object; see desired.Index.
func (x *Index) Lookup(k object.Key) []desired.Release {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Lookup(k)
}

// BySet returns the releases that have the set with a hash; see desired.Index.
func (x *Index) BySet(hash string) []desired.Release {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.BySet(hash)
}

// HasRelease reports whether a release ("namespace/name") has a record, of Fleet or of another program.
func (x *Index) HasRelease(name string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.HasRelease(name)
}

// Unreadable returns the namespaces with release records that could not be read, in no order. all is true if the
// records of all namespaces are in the index: then a release that is not in it does not exist.
func (x *Index) Unreadable() (namespaces []string, all bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Unreadable(), !x.partial
}

// Size counts the desired objects, once for each revision that counts; the releases; and the unreadable records.
func (x *Index) Size() (objects, releases, unreadable int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.releases.Size()
}
