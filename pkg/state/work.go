// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// Who may create a Secret can write a record that is small and costs much: a manifest that repeats one key a hundred
// thousand times, or fifteen thousand objects with similar names. The cost of a record is its unpacked size, or
// perObject for each of its objects if that is more.
const (
	// perObject is about what an object needs in an audit, in bytes, beside its content.
	perObject = 1 << 10
	// dense is the ratio of cost to stored size above which a record is dense. The records of Helm unpack to about ten
	// times their size, and need more than a hundred bytes for each object.
	dense = 20
	// maxDense limits the total cost, in bytes, of all dense records, maxDenseNamespace that of those of a namespace.
	maxDense          = 48 << 20
	maxDenseNamespace = 16 << 20
	// Of the cost of a record, one of namedShare counts if Fleet names it, and one of supersededShare if its revision
	// is superseded: its objects are not evaluated.
	namedShare, supersededShare = 4, 8
)

var (
	errDense = errors.New("the release records that need more than 20 times their size exceed 48 MiB in total, " +
		"and this is one of them, in one of the namespaces with most of that")
	errDenseNamespace = errors.New("the release records of its namespace that need more than 20 times their size " +
		"exceed 16 MiB in total, and this is one of them")
)

// Work counts the cost of the dense records of a cluster. So that their order does not matter, their manifests are only
// read when all records are counted, and none of those of a namespace above a limit. The zero value is ready to use and
// safe for concurrent use.
type Work struct {
	// Named are the records that Fleet names; see Fleet.NamedReleases.
	Named map[release.Name]bool

	all, namespace int // the limits; 0 stands for maxDense and maxDenseNamespace

	mu    sync.Mutex // guards costs
	costs shares
}

// charge returns the cost of a record if it is dense, and counts it; otherwise 0.
func (w *Work) charge(r *release.Record, packed, unpacked, objects int) int {
	cost := max(unpacked, perObject*objects)
	if w == nil || cost <= dense*packed {
		return 0
	}
	w.Count(r, cost)
	return cost
}

// Count counts the cost of a dense record.
func (w *Work) Count(r *release.Record, cost int) {
	switch {
	case w.Named[r.Name]:
		cost /= namedShare
	case r.Status == release.StatusSuperseded:
		cost /= supersededShare
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.costs == nil {
		w.costs = shares{}
	}
	w.costs[r.Namespace] += cost
}

// objectsIn estimates the number of objects of a record without reading its manifest: each of them is a document or,
// with a kind, in a List.
func objectsIn(r *release.Record) int {
	n := 1 + strings.Count(r.Manifest, "\n---")
	if strings.Contains(r.Manifest, "List") {
		n = max(n, strings.Count(r.Manifest, "kind:"), strings.Count(r.Manifest, `kind":`))
	}
	return n + len(r.Hooks)
}

// Full reports whether the dense records of a namespace already exceed its limit.
func (w *Work) Full(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.costs[namespace] > cmp.Or(w.namespace, maxDenseNamespace)
}

// Exceeded returns why the dense records of some namespaces may not be read. All records must have been read.
func (w *Work) Exceeded() map[string]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.costs.exceeded(share{cmp.Or(w.namespace, maxDenseNamespace), errDenseNamespace},
		share{cmp.Or(w.all, maxDense), errDense})
}

// ReadRecord decodes the release record in a Secret, and its manifest if it is Fleet's and not dense. If w is nil, no
// record is dense. It is safe for concurrent use. unpacked is the number of bytes that the record unpacks to. If it
// unpacks to more, ReadRecord returns nil.
func (w *Work) ReadRecord(secret release.Name, value []byte, unpacked int) *Record {
	out := &Record{packed: len(value)}
	if unpacked > release.MostUnpacked(len(value)) {
		return out.damaged(secret, release.ErrUnpacked)
	}
	counted := 0
	read, err := release.Read(value, unpacked, func(r *release.Record) release.Part {
		ofFleet := r.Name == secret && r.BundleID != ""
		if !ofFleet {
			return release.Nothing
		}
		counted = objectsIn(r)
		if out.Dense = w.charge(r, out.packed, unpacked, counted); out.Dense > 0 {
			return release.Nothing
		}
		return release.Whole
	})
	switch {
	case errors.Is(err, release.ErrTooLarge):
		return nil
	case err != nil:
		return out.damaged(secret, err)
	case read.Name != secret:
		return out.damaged(secret, fmt.Errorf("decoding release record: it is the record of release %s", read.Name))
	}
	out.Record, out.Objects, out.Secrets, out.ManifestError = read.Record, read.Objects, read.Secrets, read.Problem
	out.Skipped, out.OverBound = read.Part != release.Whole, release.BoundOf(read.Problem)
	if n := len(out.Objects) + len(out.Hooks); n > counted && out.Dense == 0 { // YAML has many ways to write a kind
		if out.Dense = w.charge(&out.Record, out.packed, unpacked, n); out.Dense > 0 {
			out.Objects, out.Secrets = nil, nil
		}
	}
	return out
}

// damaged makes the record in a Secret one that could not be decoded.
func (r *Record) damaged(secret release.Name, why error) *Record {
	r.Name, r.Damaged, r.OverBound = secret, why.Error(), release.BoundOf(why)
	return r
}

const (
	// maxNamespaceObjects limits the objects in the records of a namespace that nobody but their writer vouches for,
	// maxObjects those of all namespaces. An object needs about 2 KiB until it is evaluated.
	maxNamespaceObjects = 60_000
	maxObjects          = 100_000
)

// trust says how an administrator lifts the limits of a namespace.
const trust = ". If you trust everybody who can write Secrets there, set the label " +
	"records.fleetdoctor.io/<that namespace>=trusted on namespace kube-system"

var (
	errNamespaceObjects = errors.New("the releases of its namespace have more than 60,000 objects" + trust)
	errObjects          = errors.New("releases have more than 100,000 objects in total, and its namespace is one of " +
		"those with most of them" + trust)
)

// NamedReleases returns the revisions of releases that BundleDeployments name in the namespaces that Fleet made for
// Clusters: nobody else writes there.
func (f *Fleet) NamedReleases() map[release.Name]bool {
	out := map[release.Name]bool{}
	for _, bd := range f.BundleDeployments {
		if n, err := release.ParseName(bd.Status.Release); err == nil && fleet.IsClusterNamespace(bd.Namespace) {
			out[n] = true
		}
	}
	return out
}

// LimitObjects drops the objects of the records of the namespaces that have too many. These records do not count:
// NamedReleases, those of a namespace that an administrator trusts, and those of superseded revisions, whose objects
// are not evaluated.
func (c *Cluster) LimitObjects(f *Fleet, trusts func(namespace string) bool) {
	named := f.NamedReleases()
	counts, counted := shares{}, map[release.Name]*Record{}
	for n, r := range c.Records {
		if named[n] || trusts(n.Namespace) || r.Status == release.StatusSuperseded {
			continue
		}
		counts[n.Namespace] += r.objects
		counted[n] = r
	}
	exceeded := counts.exceeded(share{maxNamespaceObjects, errNamespaceObjects}, share{maxObjects, errObjects})
	for n, r := range counted {
		if why := exceeded[n.Namespace]; why != nil && r.objects > 0 {
			r.OverBudget(why)
		}
	}
}

// shares are the shares of namespaces in something that has a limit for each of them and for all together.
type shares map[string]int

// share is a limit, and why what exceeds it is not read.
type share struct {
	limit int
	why   error
}

// exceeded returns the namespaces whose share is not read, with the reasons. Of those within the limit of one, the
// largest ones exceed the limit of all.
func (s shares) exceeded(one, all share) map[string]error {
	out := map[string]error{}
	total := 0
	for namespace, n := range s {
		if n > one.limit {
			out[namespace] = one.why
			continue
		}
		total += n
	}
	largest := func(a, b string) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) }
	for _, namespace := range slices.SortedFunc(maps.Keys(s), largest) {
		if total <= all.limit {
			break
		}
		if out[namespace] == nil {
			out[namespace] = all.why
			total -= s[namespace]
		}
	}
	return out
}

// ControllerOf returns the Deployment in Fleet's system namespace that processes the objects of a kind whose label
// names a shard; without a shard, those without the label. Source: docs/fleet-behavior.md, 4.12.
func ControllerOf(kind, shard string) string {
	switch kind {
	case GitRepo:
		return sharded(fleet.GitJobName, shard)
	case HelmOp:
		return sharded(fleet.HelmOpsName, shard)
	}
	return sharded(fleet.ControllerName, shard)
}

// WantedControllers returns the names of the Deployments that explain why Fleet does not act: those that remove the
// finalizers of objects that are being deleted, and those of shards.
func (f *Fleet) WantedControllers() map[string]bool {
	out := map[string]bool{}
	for _, d := range f.Deleting() {
		for _, finalizer := range d.Finalizers {
			out[d.RemoverOf(finalizer)] = true
		}
	}
	for _, k := range Kinds {
		for _, o := range k.List(f) {
			if shard := o.GetLabels()[fleet.ShardLabel]; shard != "" {
				out[ControllerOf(k.Name, shard)] = true
			}
		}
	}
	delete(out, "")
	return out
}
