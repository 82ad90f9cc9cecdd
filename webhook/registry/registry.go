// SPDX-License-Identifier: Apache-2.0

// Package registry knows, in memory, which Helm release of Fleet's desires an object, and with which marks. It is filled from release records
// as they come and go, and keeps of each no more than that: how much that may be is up to who fills it. Its answers make no request.
package registry

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Registry may be filled and asked at once.
type Registry struct {
	scoped bool

	mu sync.RWMutex
	// revisions are what is known of each release ("namespace/name"), ascending.
	revisions map[string][]*Entry
	// owners are the revisions that desire an object, ordered by release; of one release the newest first.
	owners map[key][]*Entry
	// sets are the revisions by the hash of their set, ordered like owners.
	sets             map[string][]*Entry
	objects, damaged int
}

// New makes an empty registry. namespaces are those whose records it will be filled from; none stands for all.
func New(namespaces ...string) *Registry {
	return &Registry{scoped: len(namespaces) > 0, revisions: map[string][]*Entry{}, owners: map[key][]*Entry{}, sets: map[string][]*Entry{}}
}

// Put adds a revision, or replaces what is known of it.
func (r *Registry) Put(e *Entry) { r.change(e.Name, e) }

// Delete forgets a revision.
func (r *Registry) Delete(n release.Name) { r.change(n, nil) }

func (r *Registry) change(n release.Name, e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := n.Release()
	all := slices.DeleteFunc(slices.Clone(r.revisions[name]), func(old *Entry) bool { return old.Revision == n.Revision })
	if e != nil {
		all = append(all, e)
	}
	r.set(name, all)
}

// Replace makes the entries all that is known of a namespace's releases; the namespace "" stands for all. Who asks meanwhile may get the
// answers of one release from before, and of another from after.
func (r *Registry) Replace(namespace string, entries []*Entry) {
	revisions := map[string][]*Entry{}
	for _, e := range entries {
		name := e.Name.Release()
		revisions[name] = append(revisions[name], e)
	}
	r.mu.RLock()
	for name := range r.revisions {
		if _, there := revisions[name]; !there && (namespace == "" || strings.HasPrefix(name, namespace+"/")) {
			revisions[name] = nil
		}
	}
	r.mu.RUnlock()
	for name, all := range revisions {
		r.mu.Lock() // for each, so that nobody who asks waits for all of them
		r.set(name, all)
		r.mu.Unlock()
	}
}

// set makes these the revisions of a release, and its claims those of the ones that count.
func (r *Registry) set(name string, all []*Entry) {
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.Revision, b.Revision) })
	before := r.revisions[name]
	r.damaged += count(all) - count(before)
	if len(all) == 0 {
		delete(r.revisions, name)
	} else {
		r.revisions[name] = all
	}
	was, is := counted(before), counted(all)
	// Claimed before it is given up: of an object that both revisions desire the map keeps its place.
	for _, e := range is {
		if !slices.Contains(was, e) {
			r.claim(e)
		}
	}
	for _, e := range was {
		if !slices.Contains(is, e) {
			r.disclaim(e)
		}
	}
}

func count(entries []*Entry) (damaged int) {
	for _, e := range entries {
		if e.damaged {
			damaged++
		}
	}
	return damaged
}

// counted are the revisions of a release that count, at most two: the highest deployed one, and the newest of all where that is a newer one
// that Helm is at work on, because it stores a record before it applies. A pending one that is not the newest Helm gave up: it begins nothing
// while the newest is pending.
func counted(all []*Entry) []*Entry {
	var out []*Entry
	for _, e := range slices.Backward(all) {
		if e.deployed {
			out = append(out, e)
			break
		}
	}
	if n := len(all); n > 0 && all[n-1].pending {
		out = append(out, all[n-1])
	}
	return out
}

func (r *Registry) claim(e *Entry) {
	for _, k := range e.keys {
		i, _ := slices.BinarySearchFunc(r.owners[k], e, byRelease)
		r.owners[k] = slices.Insert(r.owners[k], i, e)
	}
	r.objects += e.Objects
	if e.Want.Hash != "" {
		i, _ := slices.BinarySearchFunc(r.sets[e.Want.Hash], e, byRelease)
		r.sets[e.Want.Hash] = slices.Insert(r.sets[e.Want.Hash], i, e)
	}
}

// byRelease orders entries by namespace and name of their release; of one release the newest revision is first.
func byRelease(a, b *Entry) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name.Name, b.Name.Name), cmp.Compare(b.Revision, a.Revision))
}

func (r *Registry) disclaim(e *Entry) {
	is := func(other *Entry) bool { return other == e }
	for _, k := range e.keys {
		if r.owners[k] = slices.DeleteFunc(r.owners[k], is); len(r.owners[k]) == 0 {
			delete(r.owners, k)
		}
	}
	r.objects -= e.Objects
	if r.sets[e.Want.Hash] = slices.DeleteFunc(r.sets[e.Want.Hash], is); len(r.sets[e.Want.Hash]) == 0 {
		delete(r.sets, e.Want.Hash)
	}
}

// Owners returns the releases that desire an object, ordered by namespace and name; of one release the newest revision that does. The
// namespace of the key is empty for a cluster-scoped object.
func (r *Registry) Owners(k object.Key) []Release {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Release
	for _, e := range r.owners[keyOf(k)] {
		if n := len(out); !e.Leaving && (n == 0 || out[n-1].Namespace != e.Namespace || out[n-1].Name.Name != e.Name.Name) {
			out = append(out, e.Release)
		}
	}
	return out
}

// Revisions returns what Owners does, and of each release also the older revision that counts, where that desires the object too.
func (r *Registry) Revisions(k object.Key) []Release {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Release
	for _, e := range r.owners[keyOf(k)] {
		if !e.Leaving {
			out = append(out, e.Release)
		}
	}
	return out
}

// Claims returns all that desires an object, or did until Helm began to take it away: of a release the one or two revisions that count, in the
// order of Owners. Their Agents are those of both, also where only one desires the object: the other may be dropping it.
func (r *Registry) Claims(k object.Key) []Release {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Release
	for _, e := range r.owners[keyOf(k)] {
		claim := e.Release
		claim.Agents = slices.Clone(e.Agents)
		for _, other := range counted(r.revisions[e.Name.Release()]) {
			if other != e {
				claim.Agents = append(claim.Agents, other.Agents...)
			}
		}
		out = append(out, claim)
	}
	return out
}

// Holders returns the releases whose records state the set of a hash, ordered by namespace and name; of one release the newest revision. More
// than one means that at most one of them is what the set was made for: which one, the object has to say.
func (r *Registry) Holders(hash string) []Release {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Release
	for _, e := range r.sets[hash] {
		if n := len(out); n == 0 || out[n-1].Namespace != e.Namespace || out[n-1].Name.Name != e.Name.Name {
			out = append(out, e.Release)
		}
	}
	return out
}

// Release says whether a release ("namespace/name") has a record, whether it is Fleet's or not.
func (r *Registry) Release(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.revisions[name]) > 0
}

// Complete says whether every release record of the cluster was read: only then is a release that is not known not there.
func (r *Registry) Complete() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return !r.scoped && r.damaged == 0
}

// Size is how much the registry knows: objects that are desired, each by every revision that counts, releases, and records that could not be
// read.
func (r *Registry) Size() (objects, releases, damaged int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.objects, len(r.revisions), r.damaged
}
