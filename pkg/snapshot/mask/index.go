// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

const (
	// shortest is the length in bytes of the shortest value that is searched for. Shorter ones are often common words.
	shortest = redact.MinLength
	// longestPrefix is the length in bytes of the prefixes that are looked up. What follows is compared.
	longestPrefix = 64
	// maxSame is the number of values with the same prefix that are compared.
	maxSame = 16
	// filterBits is the size of the filter, as a power of two, in bits.
	filterBits = 22
)

// index finds values in a text. At each position, it looks up at most one prefix of each length, and compares at most
// maxSame values: the time is linear in the length of the text, whatever the values are.
type index struct {
	known  map[string]struct{}
	filter []uint64         // has hashes of the first bytes of all values
	heads  map[string][]int // the lengths of the prefixes that begin with these bytes, longest first
	same   map[string][]string
	words  map[string]bool // the values that are only found between other characters than letters and digits
}

func newIndex() index {
	return index{filter: make([]uint64, 1<<filterBits/64), known: map[string]struct{}{}, heads: map[string][]int{},
		same: map[string][]string{}, words: map[string]bool{}}
}

// add adds a value.
func (x *index) add(v string) {
	if _, known := x.known[v]; known {
		return
	}
	v = strings.Clone(v)
	x.known[v] = struct{}{}
	head, prefix := v[:shortest], v[:min(len(v), longestPrefix)]
	at := filterOf(headOf(head))
	x.filter[at/64] |= 1 << (at % 64)
	if lengths := x.heads[head]; !slices.Contains(lengths, len(prefix)) {
		x.heads[head] = append(lengths, len(prefix))
		slices.SortFunc(x.heads[head], func(a, b int) int { return b - a })
	}
	if len(x.same[prefix]) <= maxSame {
		x.same[prefix] = append(x.same[prefix], v)
	}
}

func headOf(text string) uint64 {
	var head uint64
	for i := range shortest {
		head |= uint64(text[i]) << (8 * i)
	}
	return head
}

func filterOf(head uint64) uint64 { return head * 0x9E3779B97F4A7C15 >> (64 - filterBits) }

// find returns the first value in a text at or after begin, and where it is; "" if there is none. The longest of the
// values that begin at one position counts. If too many have the same prefix, the rest of the text counts as the value.
func (x *index) find(text string, begin int) (v string, at int) {
	if len(x.known) == 0 || len(text)-begin < shortest {
		return "", 0
	}
	head := headOf(text[begin:]) << 8
	for i := begin; i+shortest <= len(text); i++ {
		head = head>>8&^(0xff<<(8*(shortest-1))) | uint64(text[i+shortest-1])<<(8*(shortest-1))
		if at := filterOf(head); x.filter[at/64]&(1<<(at%64)) == 0 {
			continue
		}
		if v := x.at(text[i:]); v != "" && (!x.words[v] || isWord(text, i, i+len(v))) {
			return v, i
		}
	}
	return "", 0
}

// isWord reports whether no letter and no digit is next to a part of a text.
func isWord(text string, begin, end int) bool {
	return (begin == 0 || classOf(text[begin-1]) == otherCharacter) && (end == len(text) || classOf(text[end]) == otherCharacter)
}

// at returns the longest value with which a text begins.
func (x *index) at(text string) string {
	for _, length := range x.heads[text[:shortest]] {
		if length > len(text) {
			continue
		}
		found := ""
		same := x.same[text[:length]]
		if len(same) > maxSame {
			return text
		}
		for _, v := range same {
			if len(v) > len(found) && strings.HasPrefix(text, v) {
				found = v
			}
		}
		if found != "" {
			return found
		}
	}
	return ""
}

// has reports whether a value is in a text.
func (x *index) has(text string) bool {
	v, _ := x.find(text, 0)
	return v != ""
}
