// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// errUnusual means that a document is not in the usual form. It may still be valid YAML.
var errUnusual = errors.New("the document is not in the usual form")

const (
	// endOfDocument is the indentation after the last line.
	endOfDocument = -1
	// maxDepth limits the nesting of collections in the usual form. Schemas of CustomResourceDefinitions have about 50
	// levels.
	maxDepth = 100
	// maxKey limits the length of a key in the usual form, in bytes. The library accepts 1024 characters.
	maxKey = 1000
)

// reader converts the documents of a manifest to JSON, within limits.
//
// It converts the usual form itself, which is the form that Fleet's agent and Helm write: block mappings, block
// sequences, plain, quoted and literal scalars, and comments on separate lines. The result is byte for byte that of
// sigs.k8s.io/yaml, which converts all other documents.
type reader struct {
	limits
	// bytes and nodes are the size of the part of the manifest that was read.
	bytes, nodes int

	doc  string
	next int // the offset of the line after the current one
	// indent and text are the current line. The dash of a sequence and the space after it count as indentation.
	indent int
	text   string
	depth  int
	skip   bool // the JSON is not written
	err    error

	out      []byte // the JSON
	members  []member
	unsorted []byte
}

// member is a member of a JSON object: its key, and the offsets of its JSON in reader.out.
type member struct {
	key        string
	begin, end int
}

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

// fail ends reading. The first error is kept.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.next, r.indent, r.text, r.skip = len(r.doc), endOfDocument, "", true
}

// peek returns the next line, without its line feed, and its indentation. At the end of the document it returns an
// empty line.
func (r *reader) peek() (line string, indent int) {
	line, _, _ = strings.Cut(r.doc[r.next:], "\n")
	for indent < len(line) && line[indent] == ' ' {
		indent++
	}
	return line, indent
}

// nextLine moves to the next line that is not blank and not a comment.
func (r *reader) nextLine() {
	for r.next < len(r.doc) {
		line, indent := r.peek()
		r.next += len(line) + 1
		if indent < len(line) && line[indent] != '#' {
			r.indent, r.text = indent, line[indent:]
			return
		}
	}
	r.indent, r.text = endOfDocument, ""
}

// count adds to the number of nodes that were read.
func (r *reader) count(nodes int) {
	if r.skip {
		return
	}
	if r.nodes += nodes; r.nodes > r.maxNodes {
		r.fail(r.tooMany)
	}
}

// put appends JSON.
func (r *reader) put(s string) {
	if r.skip {
		return
	}
	if r.out = append(r.out, s...); len(r.out) > r.maxJSON {
		r.fail(errLargeMetadata)
	}
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

// isEntry reports whether a line begins with the dash of a sequence.
func isEntry(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

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
