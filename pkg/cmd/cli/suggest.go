// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	// most is the number of suggestions.
	most = 3
	// lettersPerEdit is the number of letters of a word, rounded up, for each edit that is allowed.
	lettersPerEdit = 3
	mostEdits      = 3
)

// Nearest returns the known words that are most similar to a word, the most similar first: those that differ from it in
// a few letters and, if there are none, those that begin with it. It ignores case. It is empty if the word itself is
// known.
func Nearest(word string, known []string) []string {
	type near struct {
		word  string
		edits int
	}
	folded := strings.ToLower(word)
	limit := min((len([]rune(folded))+lettersPerEdit-1)/lettersPerEdit, mostEdits)
	var found, longer []near
	for _, k := range known {
		other := strings.ToLower(k)
		switch {
		case k == word:
			return nil
		// the distance of long words is costly; a rune has at most four bytes
		case folded == "" || abs(len(other)-len(folded)) > 4*mostEdits:
		default:
			if n := distance(folded, other); n <= limit && n < len([]rune(folded)) {
				found = append(found, near{k, n})
			}
		}
		if folded != "" && strings.HasPrefix(other, folded) {
			longer = append(longer, near{word: k})
		}
	}
	if len(found) == 0 {
		found = longer
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.word, b.word))
	})
	found = slices.Compact(found)
	var out []string
	for _, n := range found[:min(len(found), most)] {
		out = append(out, n.word)
	}
	return out
}

// Hint returns the question whether the user meant one of the known words, "" if none is similar.
func Hint(word string, known []string) string { return HintIn("", word, "", known) }

// HintIn is a Hint for a word that is a part of an argument: before and after are the parts around it.
func HintIn(before, word, after string, known []string) string {
	near := Nearest(word, known)
	for i, n := range near {
		near[i] = before + n + after
	}
	return Suggestion(near)
}

// Suggestion returns the question whether the user meant one of some words, "" without any.
func Suggestion(words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, 0, most)
	for _, w := range words[:min(len(words), most)] {
		quoted = append(quoted, strconv.Quote(w))
	}
	return "Did you mean " + strings.Join(quoted, " or ") + "?"
}

// distance is the number of letters by which two words differ: 1 if the letters are the same in another order.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	if a != b && slices.Equal(x, y) {
		return 1
	}
	return levenshtein.ComputeDistance(a, b)
}

func abs(n int) int { return max(n, -n) }
