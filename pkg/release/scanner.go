// SPDX-License-Identifier: Apache-2.0

package release

import "strings"

// none stands for no indentation at all.
const none = -1

// scanner follows a YAML document line by line, as far as it takes to know where a scalar ends. It knows block mappings, block sequences and
// scalars of all styles, and gives up at anything else. It may take for a document what is none, but must never take a line for the text of a
// scalar, or the other way round, in one that is.
type scanner struct {
	// text is the indentation that lines have to exceed to belong to the plain or block scalar of a line before; none outside.
	text int
	// quote is what ends the quoted scalar that a line before began, 0 outside.
	quote byte
}

// outside says whether a line, without its indentation, is neither blank, nor a comment, nor text of a scalar.
func (s *scanner) outside(text string, indent int) bool {
	return s.quote == 0 && text != "" && text[0] != '#' && (s.text == none || indent <= s.text)
}

// line takes the next line, and says whether it could follow it.
func (s *scanner) line(text string, indent int) bool {
	switch {
	case s.quote != 0:
		// YAML's own library lets quoted text begin at the margin; nobody writes it so, and it could pass for a key.
		return (text == "" || indent > 0) && s.quoted(text)
	case text == "", s.text != none && indent > s.text:
		return true
	case text[0] == '#':
		return true
	}
	s.text = none
	column, dash := indent, none
	for isEntry(text) {
		rest := strings.TrimLeft(text[1:], " ")
		dash = column
		column += len(text) - len(rest)
		text = rest
	}
	if text == "" {
		return true
	}
	value, isKey, ok := splitKey(text)
	switch {
	case !ok:
		return false
	case isKey:
		return s.value(value, column)
	}
	// A scalar by itself belongs to a dash in its line; else what it continues is not known. Quotes tell where they end.
	return (dash != none || text[0] == '"' || text[0] == '\'') && s.value(text, dash)
}

// splitKey returns what stands behind the key that a text begins with.
func splitKey(text string) (value string, isKey, ok bool) {
	if q := text[0]; q == '"' || q == '\'' {
		end := closing(text[1:], q)
		if end < 0 {
			return "", false, true // it goes on in the next line, which a key does not
		}
		rest := strings.TrimLeft(text[1+end+1:], " ")
		if rest == ":" || strings.HasPrefix(rest, ": ") {
			return rest[1:], true, true
		}
		return "", false, true
	}
	colon := strings.Index(text, ": ")
	if colon < 0 && strings.HasSuffix(text, ":") {
		colon = len(text) - 1
	}
	if comment := strings.Index(text, " #"); colon < 0 || comment >= 0 && comment < colon {
		return "", false, true
	}
	return text[colon+1:], true, plain(text)
}

// value takes the value of a key, or an entry, that stands in the column n.
func (s *scanner) value(text string, n int) bool {
	text = strings.TrimLeft(text, " ")
	if ended(text) {
		return true
	}
	switch c := text[0]; c {
	case '"', '\'':
		s.quote = c
		return s.quoted(text[1:])
	case '|', '>':
		s.text = n
		return ended(strings.TrimLeft(text[1:], "+-0123456789"))
	case '{', '[':
		return (strings.HasPrefix(text, "{}") || strings.HasPrefix(text, "[]")) && ended(text[2:])
	}
	s.text = n
	return plain(text)
}

// quoted takes text of a quoted scalar. Behind its end there is nothing more in the line.
func (s *scanner) quoted(text string) bool {
	end := closing(text, s.quote)
	if end < 0 {
		return true
	}
	s.quote = 0
	return ended(text[end+1:])
}

// closing finds the quote that ends a text, -1 where none does.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// plain says whether a plain scalar may begin like this. A dash may, before anything but a blank.
func plain(text string) bool {
	return !strings.ContainsRune("?:,[]{}#&*!|>'\"%@`", rune(text[0])) && !isEntry(text)
}

// ended says whether nothing follows in a line but blanks and a comment.
func ended(text string) bool {
	rest := strings.TrimLeft(text, " ")
	return rest == "" || rest[0] == '#'
}
