// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"slices"
	"strings"
)

// usual converts a document in the usual form. For other documents it returns errUnusual.
func (r *reader) usual(doc string) ([]byte, error) {
	r.doc, r.next, r.depth, r.skip, r.err, r.out, r.members = doc, 0, 0, false, nil, r.out[:0], r.members[:0]
	if !r.metadata {
		r.bytes += len(doc)
	}
	if r.bytes > maxParsed {
		return nil, errLargeManifest
	}
	if !usualText(doc) {
		return nil, errUnusual
	}
	if r.nextLine(); r.indent != 0 || isEntry(r.text) {
		return nil, errUnusual
	}
	if r.collection(); r.metadata {
		r.bytes += len(r.out)
	}
	if r.err != nil {
		return nil, r.err
	}
	return bytes.Clone(r.out), nil
}

// maxDepth limits the nesting of collections in the usual form. Schemas of CustomResourceDefinitions have about 50
// levels.
const maxDepth = 100

// maxKey limits the length of a key in the usual form, in bytes. The library accepts 1024 characters.
const maxKey = 1000

// usualText reports whether a document ends with a line feed, and has no tabs, no other line breaks, and no characters
// that YAML does not allow.
func usualText(doc string) bool {
	for _, c := range doc {
		switch {
		case c >= ' ' && c <= '~', c == '\n':
		case c < 0xA0, c == '\u2028', c == '\u2029', c == '\uFEFF', c >= 0xFFFD && c <= 0xFFFF:
			return false
		}
	}
	return strings.HasSuffix(doc, "\n")
}

// collection reads the mapping or sequence that begins in the current line.
func (r *reader) collection() {
	column := r.indent
	if r.depth++; r.depth > maxDepth {
		r.fail(errUnusual)
	} else if isEntry(r.text) {
		r.sequence(column)
	} else {
		r.mapping(column)
	}
	if r.depth--; r.indent > column {
		r.fail(errUnusual)
	}
}

// metadataKeys are the keys of a document that are kept if only the metadata is read.
var metadataKeys = []string{"apiVersion", "kind", "metadata", "items"}

// mapping reads the mapping in a column.
func (r *reader) mapping(column int) {
	first, sorted := len(r.members), true
	r.put("{")
	for r.indent == column {
		key, value, ok := splitKey(r.text)
		if !ok {
			r.fail(errUnusual)
			return
		}
		if column == 0 && r.metadata {
			r.skip = !slices.Contains(metadataKeys, key)
		}
		if r.count(perLine); !r.skip {
			if n := len(r.members); n > first {
				r.put(",")
				sorted = sorted && r.members[n-1].key < key
			}
			r.members = append(r.members, member{key: key, begin: len(r.out)})
		}
		r.put(`"`)
		r.escape(key)
		r.put(`":`)
		r.value(value, column)
	}
	if column == 0 {
		r.skip = r.err != nil
	}
	if !sorted && !r.skip {
		r.sort(r.members[first:])
	}
	r.members = r.members[:first]
	r.put("}")
}

// value reads the value of a key in a column. text is what follows the key in its line.
func (r *reader) value(text string, column int) {
	if text != "" {
		r.scalar(text, column)
		return
	}
	r.nextLine()
	if r.indent > column || r.indent == column && isEntry(r.text) {
		r.collection()
	} else {
		r.put("null")
	}
}

// sort sorts the members of the last object by their keys, as the library does.
func (r *reader) sort(members []member) {
	end, begin := len(r.out), members[0].begin
	for i := len(members) - 1; i >= 0; i-- {
		members[i].end, end = end, members[i].begin-1
	}
	r.unsorted = append(r.unsorted[:0], r.out[begin:]...)
	r.out = r.out[:begin]
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	for i, m := range members {
		if i > 0 {
			r.out = append(r.out, ',')
			if m.key == members[i-1].key {
				r.fail(errUnusual)
			}
		}
		r.out = append(r.out, r.unsorted[m.begin-begin:m.end-begin]...)
	}
}

// sequence reads the sequence in a column.
func (r *reader) sequence(column int) {
	r.put("[")
	for comma := ""; r.indent == column && isEntry(r.text); comma = "," {
		r.put(comma)
		r.count(1)
		text := strings.TrimPrefix(r.text, "- ")
		if text == "" || text == "-" {
			r.fail(errUnusual)
		} else if _, _, isKey := splitKey(text); isKey || isEntry(text) {
			r.indent, r.text = column+2, text
			r.collection()
		} else {
			r.count(perLine)
			r.scalar(text, column)
		}
	}
	r.put("]")
}

// isPlainKey reports whether a text is a key without quotes, and not the one that merges mappings.
func isPlainKey(key string) bool {
	if key == "" || key == "<<" {
		return false
	}
	return isPlain(key) && isText(key)
}

// splitKey splits a line into its key and the text after the colon. ok is false if the line does not begin with a key
// in the usual form.
func splitKey(text string) (key, rest string, ok bool) {
	if quote := text[0]; quote == '"' || quote == '\'' {
		end := closingQuote(text[1:], quote) + 1
		key, rest = text[1:max(end, 1)], text[end+1:]
		escaped := strings.Contains(key, "''") || strings.Contains(key, `\`)
		separated := rest == ":" || strings.HasPrefix(rest, ": ")
		ok = end > 0 && !escaped && separated
	} else {
		colon := strings.Index(text, ": ")
		if colon < 0 {
			colon = len(text) - 1
		}
		key, rest = text[:colon], text[colon:]
		ok = rest[0] == ':' && isPlainKey(key)
	}
	if !ok || len(key) > maxKey {
		return "", "", false
	}
	return key, strings.TrimPrefix(rest[1:], " "), true
}
