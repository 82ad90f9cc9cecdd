// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scalar reads the scalar that begins with text in the current line. Its next lines are indented by more than column.
func (r *reader) scalar(text string, column int) {
	switch text[0] {
	case '"', '\'':
		r.quoted(text[1:], text[0], column)
	case '|':
		r.literal(text[1:], column)
	case '{', '[':
		if text != "{}" && text != "[]" {
			r.fail(errUnusual)
		}
		r.put(text)
	default:
		r.plain(text, column)
	}
	r.nextLine()
}

// continued returns the next line of a plain or quoted scalar, without its indentation. ok is false if the scalar does
// not continue.
func (r *reader) continued(column int) (text string, ok bool) {
	line, indent := r.peek()
	if indent <= column || indent == len(line) {
		return "", false
	}
	r.next += len(line) + 1
	return line[indent:], true
}

// plain reads a plain scalar.
func (r *reader) plain(text string, column int) {
	if !isPlain(text) {
		r.fail(errUnusual)
		return
	}
	next, folded := r.continued(column)
	if !folded && !isText(text) {
		if r.put(text); !isJSON(text) {
			r.fail(errUnusual)
		}
		return
	}
	r.put(`"`)
	r.escape(text)
	for ; folded; next, folded = r.continued(column) { // a scalar with a space is text
		if next[0] == '#' || !isPlainLine(next) {
			r.fail(errUnusual)
			return
		}
		r.put(" ")
		r.escape(next)
	}
	r.put(`"`)
}

// isPlain reports whether a text can be a plain scalar, or its first line.
func isPlain(text string) bool {
	if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") { // may begin or end a document
		return false
	}
	return strings.IndexByte("?:,[]{}#&*!|>'\"%@` ", text[0]) < 0 && !isEntry(text) && isPlainLine(text)
}

// isPlainLine reports whether a text can be a line of a plain scalar.
func isPlainLine(text string) bool {
	if last := text[len(text)-1]; last == ':' || last == ' ' {
		return false
	}
	return !strings.Contains(text, ": ") && !strings.Contains(text, " #")
}

// quoted reads a quoted scalar. text begins after the first quote.
func (r *reader) quoted(text string, quote byte, column int) {
	r.put(`"`)
	end := closingQuote(text, quote)
	for ; end < 0; end = closingQuote(text, quote) {
		text = strings.TrimRight(text, " ")
		r.unquote(text, quote)
		r.put(" ")
		next, ok := r.continued(column)
		if !ok || strings.HasSuffix(text, `\`) {
			r.fail(errUnusual)
			return
		}
		text = next
	}
	if r.unquote(text[:end], quote); end+1 < len(text) {
		r.fail(errUnusual)
	}
	r.put(`"`)
}

// closingQuote returns the index of the quote that ends a text, or -1.
func closingQuote(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\', quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// unquote appends text from between quotes.
func (r *reader) unquote(text string, quote byte) {
	if quote == '\'' {
		r.escape(strings.ReplaceAll(text, "''", "'"))
		return
	}
	for {
		before, after, found := strings.Cut(text, `\`)
		if r.escape(before); !found {
			return
		}
		c, _, rest, err := strconv.UnquoteChar(text[len(before):], quote)
		separator := c == '\u2028' || c == '\u2029'
		if err != nil || separator || strings.IndexByte(goEscapes, after[0]) < 0 {
			r.fail(errUnusual)
			return
		}
		r.escape(string(c))
		text = rest
	}
}

// goEscapes are the characters that have the same meaning after a backslash in Go and in YAML.
const goEscapes = `abtnvfr"\xuU`

// literal reads a literal block scalar. header is the text after its indicator in the line.
func (r *reader) literal(header string, column int) {
	indent := 0 // of the text, 0 until it is known
	if header != "" && header[0] >= '1' && header[0] <= '9' {
		indent, header = column+int(header[0]-'0'), header[1:]
	}
	r.put(`"`)
	feeds, empty := 0, true // feeds is the number of line feeds that are not yet appended
	for r.next < len(r.doc) {
		line, spaces := r.peek()
		blank := spaces == len(line)
		if indent == 0 && !blank {
			indent = max(spaces, column+1)
		}
		noText := blank && spaces <= indent
		if !noText && (indent == 0 || spaces < indent) {
			break
		}
		if r.next += len(line) + 1; noText {
			feeds++
			continue
		}
		r.put(strings.Repeat(`\n`, feeds))
		r.escape(line[indent:])
		feeds, empty = 1, false
	}
	switch {
	case empty, header != "" && header != "-" && header != "+":
		r.fail(errUnusual)
	case header == "":
		feeds = 1
	case header == "-":
		feeds = 0
	}
	r.put(strings.Repeat(`\n`, feeds) + `"`)
}

// escaped are the characters from the space on that encoding/json escapes.
var escaped = [256]bool{'"': true, '\\': true, '<': true, '>': true, '&': true}

// escape appends text as part of a JSON string, with the escapes of encoding/json.
func (r *reader) escape(text string) {
	if r.skip {
		return
	}
	done := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && !escaped[c] {
			continue
		}
		r.put(text[done:i])
		if short := strings.IndexByte("\b\f\n\r\t\"\\", c); short >= 0 {
			r.put(`\b\f\n\r\t\"\\`[2*short : 2*short+2])
		} else {
			r.put(fmt.Sprintf(`\u%04x`, c))
		}
		done = i + 1
	}
	r.put(text[done:])
}

// isText reports whether a plain scalar is text by the rules of YAML 1.1. It returns false if this is not certain.
func isText(text string) bool {
	unsigned := text
	if text[0] == '+' || text[0] == '-' {
		unsigned = text[1:]
	}
	if len(unsigned) <= len("false") {
		switch strings.ToLower(unsigned) {
		case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "~", ".inf", ".nan":
			return false
		}
	}
	digits := strings.TrimPrefix(unsigned, ".")
	switch {
	case digits == "" || strings.IndexByte("0123456789_", digits[0]) < 0:
		return true
	case digits != unsigned, strings.Contains(digits, "_"):
		return false
	case digits[0] == '0' && len(digits) > 1 && strings.IndexByte("xXoObB", digits[1]) >= 0:
		return false
	}
	// A quantity, a hash, an address or a range.
	if strings.TrimLeft(digits, "0123456789.eE+-") != "" || strings.Count(digits, ".") > 1 {
		return true
	}
	return strings.ContainsAny(digits, "+-") && !strings.ContainsAny(digits, "eE")
}

// isJSON reports whether a plain scalar is a boolean, null or an integer in the format of JSON.
func isJSON(text string) bool {
	switch text {
	case "true", "false", "null":
		return true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text
}

// isEntry reports whether a line begins with the dash of a sequence.
func isEntry(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

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
