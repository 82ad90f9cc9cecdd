// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"hash/maphash"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Memory remembers which live objects are as desired, so that they need not be read again while neither they nor what
// they are compared with change. It has 16 bytes for each of them. It is safe for concurrent use.
type Memory struct {
	seed maphash.Seed
	mu   sync.Mutex // guards the fields below
	// known are the digests of what was evaluated, by the digest of the object's identity. before are those of earlier
	// evaluations.
	known, before map[uint64]uint64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{seed: maphash.MakeSeed(), known: map[uint64]uint64{}} }

// Begin begins an evaluation of everything.
func (m *Memory) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before == nil {
		m.before = map[uint64]uint64{}
	}
	maps.Copy(m.before, m.known)
	m.known = map[uint64]uint64{}
}

// End ends an evaluation of everything: what it did not see does not exist any more.
func (m *Memory) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = nil
}

func (m *Memory) has(id, digest uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[id]; ok {
		return known == digest
	}
	before, ok := m.before[id]
	if !ok || before != digest {
		return false
	}
	m.known[id] = digest
	return true
}

func (m *Memory) set(id, digest uint64, remember bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if remember {
		m.known[id] = digest
		return
	}
	delete(m.known, id)
	delete(m.before, id)
}

func (m *Memory) id(kind schema.GroupVersionKind, namespace, name string) uint64 {
	return maphash.Comparable(m.seed, struct {
		kind            schema.GroupVersionKind
		namespace, name string
	}{kind, namespace, name})
}
