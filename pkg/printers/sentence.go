// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// wholeWord is the width to which names and paths in a sentence are shortened first, and minWord the least one.
const wholeWord, minWord = 24, 10

var (
	// lists are names in parentheses or brackets.
	lists = regexp.MustCompile(` \([^()]*, [^()]*\)| \[[^\[\]]* [^\[\]]*\]`)
	// laterSentences are the sentences after the first one: Helm and Fleet append advice to an error.
	laterSentences = regexp.MustCompile(`\. [A-Z].*$`)
)

// within shortens a sentence to n columns: what a message is about, which may be empty, and the message. Names and
// paths lose their middle first, then lists of names and later sentences are left out. An error of Fleet or Helm has
// the reason at its end, after what wraps it: it then loses its middle. Another message loses its end.
func within(about, message string, n int) string {
	whole := func() string { return strings.TrimSpace(about + " " + message) }
	index := len(strings.Fields(about))
	words := withShortNames(whole(), n, wholeWord)
	about, message = strings.Join(words[:index], " "), strings.Join(words[index:], " ")
	for _, part := range []*string{&about, &message} {
		for _, list := range lists.FindAllString(*part, -1) {
			if span(whole()) > n {
				*part = strings.Replace(*part, list, "", 1)
			}
		}
	}
	if span(whole()) > n {
		message = laterSentences.ReplaceAllString(message, " …")
	}
	if shortest := strings.Join(withShortNames(whole(), n, minWord), " "); span(shortest) <= n {
		return shortest
	}
	if wraps := strings.Count(message, ": "); wraps > 1 {
		return withoutMiddle(about, strings.Fields(message), n)
	}
	return cut(whole(), n)
}

// withShortNames shortens the longest words, names and paths, of a sentence that is longer than n columns, at most to a
// width.
func withShortNames(s string, n, width int) []string {
	words := strings.Fields(s)
	for excess := span(s) - n; excess > 0; excess = span(strings.Join(words, " ")) - n {
		longest := 0
		for i, word := range words {
			if span(word) > span(words[longest]) {
				longest = i
			}
		}
		word := span(words[longest])
		if word <= width {
			break
		}
		words[longest] = short(words[longest], max(width, word-excess))
	}
	return words
}

// withoutMiddle joins what a message is about, its first clause, at most a half of n columns of that, and the last
// words that fit.
func withoutMiddle(about string, words []string, n int) string {
	begin, from := about, 0
	for from < len(words) && span(begin+" "+words[from]) <= n/2 {
		begin = strings.TrimSpace(begin + " " + words[from])
		from++
		if strings.HasSuffix(begin, ":") {
			break
		}
	}
	begin += " …"
	end := ""
	for i := len(words) - 1; i >= from && span(begin+" "+words[i]+end) <= n; i-- {
		end = " " + words[i] + end
	}
	return cut(begin+end, n)
}

// cut shortens a text to n columns. It keeps the beginning.
func cut(s string, n int) string {
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	for len(name) > 0 && span(string(name))+1 > n {
		name = name[:len(name)-1]
	}
	return strings.TrimRight(string(name), " ") + "…"
}

// short removes the middle of a name that is longer than n columns: names of bundles of one repository differ at the
// end.
func short(s string, n int) string {
	s = escape.Line(s)
	if span(s) <= n {
		return s
	}
	name := []rune(s)
	begin, end := 0, len(name)
	for begin < end && span(string(name[:begin+1])) <= n/2 {
		begin++
	}
	for end > begin && span(string(name[end-1:])) <= (n-1)/2 {
		end--
	}
	for end < len(name) && span(string(name[end])) == 0 {
		end++ // a combining character without its letter
	}
	return string(name[:begin]) + "…" + string(name[end:])
}

// begin shortens a list of words to n columns. It keeps the beginning.
func begin(s string, n int) string {
	if span(s) <= n {
		return s
	}
	for i := strings.LastIndex(s, ", "); i >= 0; i = strings.LastIndex(s[:i], ", ") {
		if span(s[:i])+len(", …") <= n {
			return s[:i] + ", …"
		}
	}
	return "…"
}

// sentence is a text with a capital at its begin.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// span is the width of a text in columns. Characters of ambiguous width are narrow in every locale: the same report
// gives the same bytes.
func span(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }
