// SPDX-License-Identifier: Apache-2.0

package escape

import "strings"

const (
	// ShortestKey is the length of the shortest word that IsRandom accepts.
	ShortestKey = 16
	// ofChanges is the part of the neighbouring characters of a key that are of different classes, as 1/ofChanges of
	// its length. Of random letters and digits, it is 0.6; of words in camel case, it is at most 0.4.
	ofChanges = 2.2
)

// IsRandom reports whether a word looks like a key, a hash or base64, and not like a name: it has many changes between
// small letters, capitals, digits and other characters.
func IsRandom(word string) bool {
	word = strings.TrimRight(word, "=")
	if len(word) < ShortestKey || strings.Contains(word, "://") {
		return false
	}
	var seen [4]bool
	changes, last := 0, -1
	for i := range len(word) {
		class := classOf(word[i])
		if seen[class] = true; i > 0 && class != last {
			changes++
		}
		last = class
	}
	mixed := seen[digit] && (seen[small] || seen[capital])
	return mixed && float64(changes) >= float64(len(word))/ofChanges
}

const (
	small = iota
	capital
	digit
	otherCharacter
)

func classOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	}
	return otherCharacter
}
