// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"regexp"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

var (
	// plainWord is a word that is only text in every position. Everything else becomes code: in code, GitHub and GitLab
	// recognize no markup, address, mention, reference to an issue or emoji.
	plainWord = regexp.MustCompile(`^\(?(?:[A-Za-z]{1,30}(?:['-][A-Za-z]{1,30})*\)?[.,;:]?|` +
		`[0-9]{1,6}(?:/[0-9]{1,6})?\)?[,;:]?)$`)
	// commitLike is a word that GitHub could take for a commit.
	commitLike = regexp.MustCompile(`^[0-9a-fA-F]{7,}$`)
	backticks  = regexp.MustCompile("`+")
	// webPage is an address without characters that end a link.
	webPage = regexp.MustCompile(`^https://[A-Za-z0-9./_#-]+$`)
)

// prose returns a sentence of a report. Words that could be more than text become code.
func prose(s string) string {
	var out, special []string
	opening := ""
	flush := func(mark string) {
		if len(special) > 0 {
			out, special = append(out, opening+code(strings.Join(special, " "))+mark), nil
		}
		opening = ""
	}
	for _, word := range strings.Fields(s) {
		if plainWord.MatchString(word) && !commitLike.MatchString(word) {
			flush("")
			out = append(out, word)
			continue
		}
		before, bare, after := unwrapped(word)
		if before != "" {
			flush("")
			opening = before
		}
		special = append(special, bare)
		if after != "" {
			flush(after)
		}
	}
	flush("")
	return strings.Join(out, " ")
}

// unwrapped returns a word without the parentheses around it and the punctuation after it, which are of the sentence.
func unwrapped(word string) (before, bare, after string) {
	bare = strings.TrimRight(word, ".,;:")
	if strings.HasPrefix(bare, "(") && !strings.HasSuffix(bare, "(") {
		before, bare = "(", bare[1:]
	}
	for strings.HasSuffix(bare, ")") && strings.Count(bare, ")") > strings.Count(bare, "(") {
		bare = bare[:len(bare)-1]
	}
	if bare == "" {
		return "", word, ""
	}
	return before, bare, word[len(before)+len(bare):]
}

// code returns a text as a code span, "" for an empty text.
func code(s string) string {
	s = escape.Line(strings.Join(strings.Fields(s), " "))
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longest(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// link returns a text that is plain as a link to a page, or only the text if the address is not one of a web page.
func link(s, url string) string {
	if !webPage.MatchString(url) {
		return s
	}
	return "[" + s + "](" + url + ")"
}

// cell returns markdown for a cell of a table, in which a bar ends the cell also inside code.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// block returns a fenced block of code.
func block(language, content string) string {
	content = strings.TrimSuffix(escape.Text(content), "\n")
	fence := strings.Repeat("`", max(3, longest(content)+1))
	return fence + language + "\n" + content + "\n" + fence + "\n"
}

// longest is the length of the longest run of backticks.
func longest(s string) int {
	n := 0
	for _, run := range backticks.FindAllString(s, -1) {
		n = max(n, len(run))
	}
	return n
}
