// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// yamlReader splits a file of YAML documents into pieces and parses each piece: a document, or an item of a block list with the top-level key
// "items". A YAML parser needs hundreds of bytes for each scalar, which is too much for a List of 50 MB. A damaged item does not damage the
// other items. The split needs no parser: a line that begins with "---" always ends a document, and each line of an item is indented deeper
// than its dash. An item with an alias of an anchor in another item counts as damaged. No program that captures clusters writes such aliases.
type yamlReader struct {
	r    *reader
	f    *file
	conv converter

	line, number int // of the current line and of the current document
	doc          *document
	text         piece // the document without its items
	item         piece
	state        yamlState
	indent       int // of the dashes of the items
	end          fileEnd
}

type yamlState int

const (
	outside yamlState = iota // before or after the items
	atItems                  // after the line "items:"
	inItems
)

// piece is the text of a document without its items, or of one item.
type piece struct {
	text     []byte
	tooLarge bool
	line     int // of its first line, in the file
	kept     int // number of its lines before the items
	resumed  int // the line in the file at which it continues after the items
}

// at converts a line of the text to a line of the file.
func (p *piece) at(line int) int {
	if p.resumed > 0 && line > p.kept {
		return p.resumed + line - p.kept - 1
	}
	return p.line + line - 1
}

// yaml reads a file of YAML documents. After a damaged document or item it continues with the next.
func (r *reader) yaml(f *file, in *bufio.Reader) error {
	s := &yamlReader{r: r, f: f, conv: converter{budget: &r.budget}}
	if err := s.begin(); err != nil {
		return err
	}
	for {
		line, err := s.readLine(in)
		if len(line) > 0 {
			s.end.torn = line[len(line)-1] != '\n' && line[0] != '#' // the end of a comment proves nothing about the lines before it
			if err := s.next(line); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		s.end.reached = true
		switch {
		case stops(err):
			return err
		case !errors.Is(err, io.EOF):
			s.end.failed, s.doc.damaged = true, true
			s.cut(false)
			f.damaged(f.at(s.line, 0, s.number), reason(err))
		}
		return s.endDocument()
	}
}

// readLine reads a line with its newline. It skips the rest of a line that is longer than the limit of a piece.
func (s *yamlReader) readLine(in *bufio.Reader) ([]byte, error) {
	s.line++
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if long == nil && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		if int64(len(long)) <= s.r.budget.limits.yaml() {
			long = append(long, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return long, err
		}
	}
}

// next processes a line.
func (s *yamlReader) next(line []byte) error {
	indent, dash := indentation(line)
	switch {
	case isMarker(line, "---"), isMarker(line, "..."):
		if err := s.endDocument(); err != nil {
			return err
		}
		err := s.begin()
		if rest := bytes.TrimSpace(line[3:]); line[0] == '-' && len(rest) > 0 && rest[0] != '#' {
			s.keep(&s.text, append([]byte("   "), line[3:]...))
		}
		return err
	case line[0] == '%' && s.state == outside && isBlank(s.text.text): // a directive
	case s.state == outside && !s.doc.listed && isItemsKey(line):
		s.state = atItems
	case s.state == outside:
		s.keep(&s.text, line)
	case s.state == atItems && isBlank(line):
	case s.state == inItems && (isBlank(line) || indent > s.indent):
		s.keep(&s.item, line)
	case dash && (s.state == atItems || indent == s.indent):
		err := s.endItem()
		s.state, s.indent, s.doc.listed = inItems, indent, true
		s.item = piece{text: s.item.text[:0]}
		s.keep(&s.item, line)
		if len(s.item.text) > indent {
			s.item.text[indent] = ' ' // the dash
		}
		return err
	default:
		if s.state == atItems { // the value of "items:" is not a block list
			s.keep(&s.text, []byte("items:\n"))
		}
		err := s.endItem()
		if s.doc.listed {
			s.text.kept, s.text.resumed = bytes.Count(s.text.text, []byte("\n")), s.line
		}
		s.state = outside
		s.keep(&s.text, line)
		return err
	}
	return nil
}

// begin begins a document.
func (s *yamlReader) begin() error {
	s.number++
	s.state = outside
	s.doc = &document{number: s.number, line: s.line + 1}
	s.f.open = s.doc
	s.text = piece{text: s.text.text[:0]}
	return s.r.budget.object()
}

func (s *yamlReader) keep(p *piece, line []byte) {
	if int64(len(p.text)+len(line)) > s.r.budget.limits.yaml() {
		p.tooLarge = true
		return
	}
	if len(p.text) == 0 {
		p.line = s.line
	}
	p.text = append(p.text, line...)
}

// endItem converts the item that has been read, if there is one. The error ends the reading of the path.
func (s *yamlReader) endItem() error {
	if s.state != inItems {
		return nil
	}
	raw, err := s.parse(&s.item, nil)
	if raw == nil {
		s.doc.damaged = true
		return err
	}
	s.doc.items = append(s.doc.items, item{raw: raw, line: s.item.line})
	return s.r.budget.object()
}

// endDocument converts and keeps the document that has been read. The error ends the reading of the path.
func (s *yamlReader) endDocument() error {
	open := s.state == inItems
	if !s.end.failed {
		if err := s.endItem(); err != nil {
			return err
		}
	}
	d := s.doc
	d.listed = d.listed || s.state == atItems // "items:" without a value
	if !d.listed && isBlank(s.text.text) && !s.text.tooLarge {
		s.number--
		return nil
	}
	if s.text.line > 0 {
		d.line = s.text.line
	}
	var err error
	if d.body, err = s.parse(&s.text, d); err != nil {
		return err
	}
	d.damaged = d.damaged || d.body == nil
	switch {
	case !s.end.reached:
	case d.damaged:
		s.cut(open)
	case s.end.torn && s.number > 1 && !isClosed(s.text.text):
		s.reject(cutLine, open)
	}
	if d.body == nil {
		return s.r.take(s.f, d, head{})
	}
	if d.body[0] != '{' {
		s.f.other(d.line)
		return nil
	}
	h := s.r.heads.read(d.body)
	if !d.damaged {
		s.check(h, open)
	}
	return s.r.take(s.f, d, h)
}

// parse converts a piece to JSON: the text of the document d, or of an item if d is nil. If the piece is damaged, parse records a gap and
// returns nil. The error ends the reading of the path.
func (s *yamlReader) parse(p *piece, d *document) ([]byte, error) {
	if err := s.r.ended(); err != nil {
		return nil, err
	}
	bad := &yamlError{line: 1, err: errTooLarge}
	if !p.tooLarge {
		var raw []byte
		if raw, bad = s.conv.convert(p, d); bad == nil {
			return raw, nil
		}
	}
	if stops(bad.err) {
		return nil, bad.err
	}
	where := s.f.at(p.at(bad.line), bad.column, s.number)
	if d == nil {
		s.f.gap(where+fmt.Sprintf(", item %d", len(s.doc.items)+1), reason(bad.err), effectItem)
	} else {
		s.f.damaged(where, reason(bad.err))
	}
	return nil, nil
}

// isMarker reports whether a line is the document marker m, or begins with the dash m of a list.
func isMarker(line []byte, m string) bool {
	return bytes.HasPrefix(line, []byte(m)) && (len(line) == len(m) || strings.IndexByte(" \t\r\n", line[len(m)]) >= 0)
}

// isItemsKey reports whether a line is the key "items" without a value.
func isItemsKey(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("items:"))
	return ok && isBlank(rest) && (len(bytes.TrimSpace(rest)) == 0 || rest[0] != '#')
}

// isBlank reports whether a text has only white space and comments.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// indentation returns the number of spaces at the beginning of a line, and whether the dash of a list follows.
func indentation(line []byte) (int, bool) {
	n := len(line) - len(bytes.TrimLeft(line, " "))
	return n, isMarker(line[n:], "-")
}
