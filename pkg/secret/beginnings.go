// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// prefixLength is the number of leading bytes of a value that are encoded to check whether a text may contain a form of
// the value. It is a multiple of a base64 group. It is long enough that the prefix still has MinLength bytes after one
// form has collapsed its blanks.
const prefixLength = 48

// beginning is how a form begins: its first MinLength bytes, and the next ones as far as it has them.
type beginning struct{ first, second [MinLength]byte }

// beginningOf returns the beginning of a form. ok is false if the form is too short to be hidden.
func beginningOf(form string) (b beginning, ok bool) {
	if len(form) < MinLength {
		return b, false
	}
	next := min(MinLength, len(form)-MinLength)
	return beginning{[MinLength]byte([]byte(form)), [MinLength]byte([]byte(form[next:]))}, true
}

// Beginnings are those of all forms of values. A text without any of them quotes none of the values.
type Beginnings []beginning

// beginningsOf returns the beginnings of a value, also of the decoded one.
func beginningsOf(v string) Beginnings {
	var out Beginnings
	add := func(form string) {
		if b, ok := beginningOf(form); ok {
			out = append(out, b)
		}
	}
	for _, variant := range variants(v, true) {
		add(variant)
		for _, form := range Forms(variant[:min(len(variant), prefixLength)]) {
			add(form)
		}
	}
	return out.compact()
}

func (b Beginnings) compact() Beginnings {
	slices.SortFunc(b, func(x, y beginning) int {
		return cmp.Or(bytes.Compare(x.first[:], y.first[:]), bytes.Compare(x.second[:], y.second[:]))
	})
	return slices.Clone(slices.Compact(b))
}

// knownBeginnings keeps the beginnings of values: computing them takes longer than everything else that is done with a
// value.
type knownBeginnings struct {
	mu sync.Mutex // guards of
	of map[string]Beginnings
}

func (k *knownBeginnings) get(v string) Beginnings {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.of[v]
	if !ok {
		if k.of == nil {
			k.of = map[string]Beginnings{}
		}
		b = beginningsOf(v)
		k.of[v] = b
	}
	return b
}
