// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// errUnusual says that a document is not in the form that the reader knows. It may be YAML all the same.
var errUnusual = errors.New("the document is not in the usual form")

const (
	// endOfDocument is the indentation behind the last line.
	endOfDocument = -1
	// maxDepth bounds how deeply collections are nested in the usual form. Schemas of CustomResourceDefinitions have about 50 levels.
	maxDepth = 200
	// maxKey bounds, in bytes, a key in the usual form. The library accepts 1024 characters.
	maxKey = 1000
)

// reader reads documents in the form that Fleet's agent and Helm write: block mappings, block sequences, scalars that are plain, quoted or
// literal, and comments on lines of their own. Of any other document it returns errUnusual: it never guesses. Its result is the same, byte for
// byte, as that of sigs.k8s.io/yaml.
type reader struct {
	// metadata says that only apiVersion, kind, metadata and items are read.
	metadata bool
	// maxBytes and maxNodes bound what is read of the document. tooLarge and tooMany are the errors for more.
	maxBytes, maxNodes int
	tooLarge, tooMany  error

	doc string
	// next is where the line behind the current one begins.
	next int
	// start, indent and text are the current line: where it begins, its indentation, and what follows that. In a sequence the dash and
	// the space behind it count as indentation of what follows them.
	start, indent int
	text          string
	nested        bool // the current line has a dash already
	depth         int
	err           error

	// skip says that the current part of the document is not kept. bytes and nodes are the sizes of the other parts, of which the current
	// one begins at from and must end before until.
	skip         bool
	bytes, nodes int
	from, until  int

	out     []byte // the JSON
	members []member
	sorting []byte
}

// member is one member of a JSON object: its key, and where it begins and ends in reader.out.
type member struct {
	key        string
	begin, end int
}

// read returns the document as JSON. The caller must not change maxBytes and maxNodes meanwhile.
func (r *reader) read(doc string) ([]byte, error) {
	if !usualText(doc) {
		return nil, errUnusual
	}
	*r = reader{metadata: r.metadata, maxBytes: r.maxBytes, maxNodes: r.maxNodes, tooLarge: r.tooLarge, tooMany: r.tooMany,
		doc: doc, until: r.maxBytes, out: r.out[:0], members: r.members[:0], sorting: r.sorting}
	r.nextLine()
	if r.indent != 0 || isEntry(r.text) {
		return nil, errUnusual
	}
	r.collection()
	if r.indent != endOfDocument {
		r.fail(errUnusual)
	}
	return bytes.Clone(r.out), r.err
}

// usualText says whether a document ends with a line feed, and has no characters that are not allowed in YAML, or end a line besides a line
// feed, or indent it besides a space.
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

// fail ends reading. The first error counts.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.next, r.indent, r.text = len(r.doc), endOfDocument, ""
}

// peek returns the next line, without its line feed, and its indentation. At the end of the document it returns an empty line.
func (r *reader) peek() (line string, indent int) {
	if r.next == len(r.doc) {
		return "", 0
	}
	line = r.doc[r.next:]
	line = line[:strings.IndexByte(line, '\n')]
	for indent < len(line) && line[indent] == ' ' {
		indent++
	}
	return line, indent
}

// nextLine goes to the next line that is not blank and not a comment.
func (r *reader) nextLine() {
	for r.next < len(r.doc) {
		line, indent := r.peek()
		r.start = r.next
		r.next += len(line) + 1
		if indent < len(line) && line[indent] != '#' {
			r.indent, r.text, r.nested = indent, line[indent:], false
			return
		}
	}
	r.start, r.indent, r.text = len(r.doc), endOfDocument, ""
}

// keep says whether the part of the document that begins in the current line is kept.
func (r *reader) keep(kept bool) {
	if !r.skip {
		r.bytes += r.start - r.from
	}
	r.skip, r.from, r.until = !kept, r.start, len(r.doc)
	if kept {
		r.until = r.start + r.maxBytes - r.bytes
	}
}

// count adds nodes to those that were read, and fails where there are too many, or where too much of the document was read.
func (r *reader) count(nodes int) {
	if r.skip {
		return
	}
	if r.nodes += nodes; r.nodes > r.maxNodes {
		r.fail(r.tooMany)
	}
	if r.next > r.until {
		r.fail(r.tooLarge)
	}
}

// put writes JSON.
func (r *reader) put(s string) {
	if !r.skip {
		r.out = append(r.out, s...)
	}
}

// collection reads the mapping or sequence that begins in the current line.
func (r *reader) collection() {
	if r.depth++; r.depth > maxDepth {
		r.fail(errUnusual)
		return
	}
	column := r.indent
	if isEntry(r.text) {
		r.sequence(column)
	} else {
		r.mapping(column)
	}
	if r.indent > column {
		r.fail(errUnusual)
	}
	r.depth--
}

// perLine is how many nodes a line counts for, beside its dashes: a key and its value.
const perLine = 2

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
			r.keep(key == "apiVersion" || key == "kind" || key == "metadata" || key == "items")
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
		r.keep(true) // the end of the object
	}
	if !sorted && r.err == nil {
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
	for i := range members[1:] {
		members[i].end = members[i+1].begin - 1
	}
	members[len(members)-1].end = len(r.out)
	begin := members[0].begin
	r.sorting = append(r.sorting[:0], r.out[begin:]...)
	r.out = r.out[:begin]
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	for i, m := range members {
		if i > 0 {
			r.out = append(r.out, ',')
			if m.key == members[i-1].key {
				r.fail(errUnusual)
			}
		}
		r.out = append(r.out, r.sorting[m.begin-begin:m.end-begin]...)
	}
}

// sequence reads the sequence in a column.
func (r *reader) sequence(column int) {
	r.put("[")
	for comma := ""; r.indent == column && isEntry(r.text); comma = "," {
		r.put(comma)
		r.entry(column)
	}
	r.put("]")
}

// entry reads the entry of a sequence in a column.
func (r *reader) entry(column int) {
	if r.nested {
		r.count(nestedNode)
	} else {
		r.count(1)
	}
	if len(r.text) < 3 {
		r.fail(errUnusual)
		return
	}
	text := r.text[2:]
	if _, _, isKey := splitKey(text); isKey || isEntry(text) {
		r.indent, r.text, r.nested = column+2, text, true
		r.collection()
		return
	}
	r.count(perLine)
	r.scalar(text, column)
}

// isEntry says whether a line begins with the dash of a sequence.
func isEntry(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// splitKey parts a line into its key and what follows that. ok is false where the line does not begin with a key in the usual form.
func splitKey(text string) (key, rest string, ok bool) {
	if quote := text[0]; quote == '"' || quote == '\'' {
		end := closingQuote(text[1:], quote)
		if end < 0 {
			return "", "", false
		}
		if key, rest = text[1:1+end], text[1+end+1:]; strings.Contains(key, "''") || strings.Contains(key, `\`) {
			return "", "", false
		}
		if rest, ok = strings.CutPrefix(rest, ":"); !ok || rest != "" && rest[0] != ' ' {
			return "", "", false
		}
	} else {
		colon := 0
		for ; ; colon++ {
			i := strings.IndexByte(text[colon:], ':')
			if i < 0 {
				return "", "", false
			}
			if colon += i; colon+1 == len(text) || text[colon+1] == ' ' {
				break
			}
		}
		if key, rest = text[:colon], text[colon+1:]; key == "" || !isPlain(key) || typeOf(key) != isText {
			return "", "", false
		}
	}
	return key, strings.TrimPrefix(rest, " "), len(key) <= maxKey
}
