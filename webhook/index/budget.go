// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"

// limits bound the memory of all revisions, in bytes. Every user who may write a record can claim objects, and all
// namespaces share the memory.
type limits struct {
	// total is for all namespaces together, and perNamespace for one of them.
	total, perNamespace int
	// reserved is the part of total for the first bytes of each namespace, up to first.
	reserved, first int
}

// defaultLimits allow some 450,000 objects, 70,000 of one namespace; the reserved part some 580 objects in each of 256
// namespaces.
var defaultLimits = limits{total: 100 << 20, perNamespace: 16 << 20, reserved: 32 << 20, first: 128 << 10}

// budget divides the memory between namespaces. The first bytes of a namespace come from the reserved part until that
// is used, all others from the shared rest. So memory is left for a namespace without records, although other
// namespaces have used their whole share.
//
// An upgrade needs memory for two revisions of a release. The smaller of the two largest is not charged, so that an
// upgrade of a known release is always within the budget.
type budget struct {
	limits
	used       usage                  // of all namespaces
	namespaces map[string]usage       // of each
	revisions  map[string]map[int]int // bytes of each, by release
}

// usage is the number of bytes from the reserved part and from the rest.
type usage struct{ reserved, shared int }

func newBudget() budget {
	return budget{limits: defaultLimits, namespaces: map[string]usage{}, revisions: map[string]map[int]int{}}
}

// take sets the bytes of a revision. If that exceeds the budget, it sets them to zero.
func (b *budget) take(n release.Name, bytes int) (ok bool) {
	before := b.charge(n.Release())
	b.set(n, bytes)
	if ok = b.resize(n.Namespace, b.charge(n.Release())-before); !ok {
		b.set(n, 0)
		b.resize(n.Namespace, b.charge(n.Release())-before) // succeeds: the charge does not grow
	}
	return ok
}

// resize changes the bytes of a namespace, if the limits allow it. They always allow a decrease.
func (b *budget) resize(namespace string, by int) (ok bool) {
	before := b.namespaces[namespace]
	sum := before.reserved + before.shared + by
	after := usage{reserved: min(sum, b.first, b.reserved-b.used.reserved+before.reserved)}
	after.shared = sum - after.reserved
	shared := b.used.shared - before.shared + after.shared
	if sum > b.perNamespace || shared > b.total-b.reserved {
		return false
	}
	b.used = usage{b.used.reserved - before.reserved + after.reserved, shared}
	if b.namespaces[namespace] = after; sum == 0 {
		delete(b.namespaces, namespace)
	}
	return true
}

func (b *budget) set(n release.Name, bytes int) {
	all := b.revisions[n.Release()]
	if bytes == 0 {
		delete(all, n.Revision)
		if len(all) == 0 {
			delete(b.revisions, n.Release())
		}
		return
	}
	if all == nil {
		all = map[int]int{}
		b.revisions[n.Release()] = all
	}
	all[n.Revision] = bytes
}

// charge returns the bytes that a release is charged for its revisions.
func (b *budget) charge(release string) (sum int) {
	first, second := 0, 0
	for _, bytes := range b.revisions[release] {
		sum += bytes
		second = max(second, min(first, bytes))
		first = max(first, bytes)
	}
	return sum - second
}
