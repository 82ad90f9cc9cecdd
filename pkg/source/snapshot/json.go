// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads JSON documents one after the other, or in an array, with or without lines between them.
type jsonReader struct {
	budget    *budget
	in        *jsonInput
	dec       *jsontext.Decoder
	base      int64  // the offset in the file at which the decoder began
	seen      int64  // the offset to which lines were counted
	lines     int    // that end before it
	lineStart int64  // the offset of the line in which it is
	body      []byte // of the last document, to be used again
	scratch   []byte
}

func newJSONReader(b *budget, in io.Reader) *jsonReader {
	s := &jsonReader{budget: b, in: &jsonInput{in: in, left: b.limits.Object}}
	s.dec = jsontext.NewDecoder(s.in, lenient)
	return s
}

// jsonInput is a stream that bounds one document and takes bytes back.
type jsonInput struct {
	in      io.Reader
	left    int64 // of the document
	offset  int64
	pending []byte // taken back
}

func (l *jsonInput) Read(p []byte) (n int, err error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	p = p[:min(int64(len(p)), l.left)]
	if len(l.pending) > 0 {
		n = copy(p, l.pending)
		l.pending = l.pending[n:]
	} else {
		n, err = l.in.Read(p)
	}
	l.offset += int64(n)
	l.left -= int64(n)
	return n, err
}

// unread takes back the last bytes that were read.
func (l *jsonInput) unread(b []byte) {
	l.pending = slices.Concat(b, l.pending)
	l.offset -= int64(len(b))
}

// json reads a file of JSON documents. After a damaged one it continues at the next line that begins with "{": that is where the next
// document begins both in JSON lines and in indented JSON.
func (r *reader) json(f *file, in io.Reader) error {
	s := newJSONReader(&r.budget, in)
	for n, damaged := 1, 0; ; n++ {
		d := &document{number: n, body: s.body[:0]}
		kind, err := s.read(d)
		s.body = d.body
		switch {
		case stops(err):
			return r.keep(f, d, err)
		case errors.Is(err, errDuplicate): // it was read to its end
			d.damaged, err = true, nil
			f.damaged(f.at(d.line, 0, n), reason(errDuplicate))
		case err != nil:
			d.damaged = true
			r.damagedJSON(f, s, n, err)
		case kind == jsontext.KindInvalid:
			return nil
		case kind != jsontext.KindBeginObject:
			f.other(d.line)
			continue
		}
		h, _ := r.heads.read(d.body) // which may be cut
		if err := r.take(f, d, h); err != nil {
			return err
		}
		if err == nil {
			continue
		}
		if isBroken(err) {
			return nil
		}
		if damaged++; damaged > maxDamaged {
			f.damaged(f.name, "most of it is damaged; the rest was not read")
			return nil
		}
		switch err := s.skipLines(func(first byte) bool { return first == '{' }); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !stops(err):
			f.damaged(f.name, reason(err))
			return nil
		case err != nil:
			return err
		}
	}
}

// damagedJSON notes a damaged document. After one with which the file ends there may have been documents of any kind.
func (r *reader) damagedJSON(f *file, s *jsonReader, n int, err error) {
	line, column := s.position(err)
	effect := effectDocument
	if n > 1 && isBroken(err) {
		effect = effectRest
		r.evidence.cuts[f.arg.index] = true
	}
	f.harmed = true
	f.gap(f.at(line, column, n), reason(err), effect)
}

// isBroken says whether nothing more can be read of a stream.
func isBroken(err error) bool {
	var syntax *jsontext.SyntacticError
	return !errors.As(err, &syntax) && !errors.Is(err, errTooLarge) || errors.Is(err, io.ErrUnexpectedEOF)
}

// read reads the next document into d if it is an object. A document of another kind is skipped. At the end of the file the kind is
// KindInvalid.
func (s *jsonReader) read(d *document) (jsontext.Kind, error) {
	kind, err := s.next(d)
	if err != nil || kind == jsontext.KindInvalid {
		return kind, err
	}
	if err := s.budget.object(); err != nil {
		return kind, err
	}
	if kind == jsontext.KindBeginObject {
		err = s.document(d)
	}
	return kind, err
}

// next finds the next document. Of an object nothing is read yet.
func (s *jsonReader) next(d *document) (jsontext.Kind, error) {
	for {
		s.startDocument()
		kind := s.peek()
		d.line = 1 + s.lines
		var err error
		switch kind {
		case jsontext.KindBeginObject:
			return kind, nil
		case jsontext.KindBeginArray, jsontext.KindEndArray:
			_, err = s.dec.ReadToken()
		default: // not a document, or what only looks like one: "---" begins as a number does
			if _, err = s.value(); err == nil {
				return kind, nil
			}
			if !isBroken(err) && s.atSeparator() {
				err = s.skipLines(func(byte) bool { return true })
			}
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // between two documents
				return jsontext.KindInvalid, nil
			}
		}
		if err != nil {
			return kind, err
		}
	}
}

// document reads an object, of which nothing was read yet, into d. If it has a key twice, the error is errDuplicate.
func (s *jsonReader) document(d *document) error {
	d.body = append(d.body, '{')
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	twice := false
	for s.peek() != jsontext.KindEndObject {
		name, err := s.value()
		if err != nil {
			return err
		}
		isItems, before := string(name) == `"items"`, len(d.body)
		if before > 1 {
			d.body = append(d.body, ',')
		}
		d.body = append(append(d.body, name...), ':') // name is gone after the next call of dec
		if k := s.peek(); isItems && (k == jsontext.KindBeginArray || k == jsontext.KindNull) {
			d.body = d.body[:before]
			twice, d.listed = twice || d.listed, true
			if err := s.items(d, k); err != nil {
				return err
			}
			continue
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		d.body = append(d.body, value...)
		if int64(len(d.body)) > s.budget.limits.Object { // the limit begins anew with each item, and a document may have "items" many times
			return errTooLarge
		}
	}
	d.body = append(d.body, '}')
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	compacted, err := compact(s.scratch[:0], d.body)
	switch {
	case err == nil && !twice:
		s.scratch, d.body = d.body, compacted
	case err == nil:
		err = errDuplicate
	}
	return err
}

// items reads the array of a document's items.
func (s *jsonReader) items(d *document, kind jsontext.Kind) error {
	if kind == jsontext.KindNull { // which typed clients write for an empty list
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.peek() != jsontext.KindEndArray {
		s.startDocument()
		line := 1 + s.lines
		value, err := s.value()
		if err != nil {
			return err
		}
		s.scratch, err = compact(s.scratch[:0], value)
		if err != nil && !errors.Is(err, errDuplicate) {
			return err
		}
		d.items = append(d.items, item{raw: bytes.Clone(s.scratch), line: line, duplicate: err != nil})
		if err := s.budget.object(); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// compact appends a JSON value without white space. If one of its objects has a name twice, the error is errDuplicate.
func compact(dst []byte, value jsontext.Value) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, value, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		err = errDuplicate
	}
	return out, err
}

func (s *jsonReader) offset() int64 { return s.base + s.dec.InputOffset() }

func (s *jsonReader) startDocument() { s.in.left = s.budget.limits.Object }

// peek is the kind of the next token.
func (s *jsonReader) peek() jsontext.Kind {
	kind := s.dec.PeekKind()
	unread := s.dec.UnreadBuffer()
	token := bytes.TrimLeft(unread, " \t\r\n")
	if len(token) > 0 && (token[0] == ',' || token[0] == ':') {
		token = bytes.TrimLeft(token[1:], " \t\r\n")
	}
	s.see(s.offset(), unread[:len(unread)-len(token)])
	return kind
}

// value reads the value that follows.
func (s *jsonReader) value() (jsontext.Value, error) {
	v, err := s.dec.ReadValue()
	s.see(s.offset()-int64(len(v)), v)
	return v, err
}

// see counts the lines of what is at the offset.
func (s *jsonReader) see(offset int64, b []byte) {
	if skip := max(s.seen-offset, 0); skip < int64(len(b)) {
		b, offset = b[skip:], offset+skip
		s.seen = offset + int64(len(b))
		if n := bytes.Count(b, []byte("\n")); n > 0 { // much faster than to look for the last one in a long line
			s.lines += n
			s.lineStart = offset + int64(bytes.LastIndexByte(b, '\n')) + 1
		}
	}
}

// position is the place of an error.
func (s *jsonReader) position(err error) (line, column int) {
	offset, unread := s.offset(), s.dec.UnreadBuffer()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && s.base+syntax.ByteOffset > offset {
		s.see(offset, unread[:min(s.base+syntax.ByteOffset-offset, int64(len(unread)))])
		offset = s.base + syntax.ByteOffset
	}
	return 1 + s.lines, int(max(offset-s.lineStart, 0)) + 1
}

// atSeparator says whether a line "---" or "# comment" is next, which JSON does not have but files of JSON documents do.
func (s *jsonReader) atSeparator() bool {
	text := bytes.TrimLeft(s.dec.UnreadBuffer(), " \t\r\n")
	if len(text) < 3 {
		more := make([]byte, 3-len(text))
		n, _ := io.ReadFull(s.in, more) // the next Read has the same error
		s.in.unread(more[:n])
		text = append(bytes.Clone(text), more[:n]...)
	}
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("#"))
}

// skipLines skips the rest of the line, and lines after it, up to one whose first byte matches.
func (s *jsonReader) skipLines(match func(first byte) bool) error {
	s.in.unread(s.dec.UnreadBuffer())
	defer func() {
		s.base = s.in.offset
		s.dec.Reset(s.in, lenient)
	}()
	buf := make([]byte, 4096)
	begins := false
	for {
		s.startDocument()
		offset := s.in.offset
		n, err := s.in.Read(buf)
		for i, b := range buf[:n] {
			if begins && match(b) {
				s.see(offset, buf[:i])
				s.in.unread(buf[i:n])
				return nil
			}
			begins = b == '\n'
		}
		s.see(offset, buf[:n])
		if err != nil {
			return err
		}
	}
}
