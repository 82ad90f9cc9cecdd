// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"strings"
)

// errUnusual means that a document is not in the usual form. It may still be valid YAML.
var errUnusual = errors.New("the document is not in the usual form")

// endOfDocument is the indentation after the last line.
const endOfDocument = -1

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
