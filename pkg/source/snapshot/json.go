// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// jsonReader reads JSON documents one after the other, or in an array, with or without newlines between them.
type jsonReader struct {
	budget  *budget
	in      *jsonInput
	dec     *jsontext.Decoder
	body    []byte // of the last document, to use its memory again
	scratch []byte
}

func newJSONReader(b *budget, in io.Reader) *jsonReader {
	s := &jsonReader{budget: b, in: &jsonInput{in: in, left: b.limits.Object}}
	s.dec = jsontext.NewDecoder(s.in, lenient)
	return s
}

// jsonInput is a stream that limits one document, accepts bytes back and counts lines.
type jsonInput struct {
	in      io.Reader
	left    int64        // bytes of the document
	pending []byte       // to be read again
	read    bytes.Buffer // what was read and not counted yet
	lines   int          // that were counted
	column  int          // bytes that were counted in the last line
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
	l.read.Write(p[:n])
	l.left -= int64(n)
	return n, err
}

// unread takes back the last n bytes that were read.
func (l *jsonInput) unread(n int) {
	rest := l.read.Len() - n
	l.pending = slices.Concat(l.read.Bytes()[rest:], l.pending)
	l.read.Truncate(rest)
}

// countTo counts lines up to the last n bytes that were read.
func (l *jsonInput) countTo(n int) {
	b := l.read.Next(max(l.read.Len()-n, 0))
	if lines := bytes.Count(b, []byte("\n")); lines > 0 { // faster than a search backwards in a long line
		l.lines += lines
		l.column = 0
		b = b[bytes.LastIndexByte(b, '\n')+1:]
	}
	l.column += len(b)
}

// place is the place of the last n bytes that were read.
func (l *jsonInput) place(n int) (line, column int) {
	c := *l
	c.countTo(n)
	return 1 + c.lines, 1 + c.column
}

// json reads a file of JSON documents. After a damaged document it continues at the next line that begins with "{": there the next
// document begins, in JSON lines and in indented JSON.
func (r *reader) json(f *file, in io.Reader) error {
	s := newJSONReader(&r.budget, in)
	for n, damaged := 1, 0; ; n++ {
		d := &document{number: n}
		f.open = d
		kind, err := s.next(d)
		switch {
		case stops(err):
			return err
		case errors.Is(err, errDuplicate): // the document was read to its end
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
		if err := r.take(f, d, r.heads.read(d.body)); err != nil {
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
		switch err := s.skipLines('{'); {
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

// damagedJSON records the gap of a damaged document. If the file ends with it, documents of any kind may be missing.
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

// isBroken reports whether nothing more can be read of a stream.
func isBroken(err error) bool {
	_, syntax := errors.AsType[*jsontext.SyntacticError](err)
	return !syntax && !errors.Is(err, errTooLarge) || errors.Is(err, io.ErrUnexpectedEOF)
}

// next reads the next document into d if it is an object. It skips a document of another kind. At the end of the file the kind is
// KindInvalid.
func (s *jsonReader) next(d *document) (jsontext.Kind, error) {
	for {
		s.in.left = s.budget.limits.Object
		kind := s.dec.PeekKind()
		d.line = s.line()
		var err error
		switch kind {
		case jsontext.KindBeginObject:
			if err = s.budget.object(); err == nil {
				err = s.document(d)
			}
			return kind, err
		case jsontext.KindBeginArray, jsontext.KindEndArray:
			_, err = s.dec.ReadToken()
		default: // not an object, or not JSON: "---" begins like a number
			if err = s.dec.SkipValue(); err == nil {
				return kind, s.budget.object()
			}
			if !isBroken(err) && s.atSeparator() {
				err = s.skipLines(0)
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

// document reads an object into d. The body of a damaged one has the members before the damage. If a key occurs twice, the error is
// errDuplicate.
func (s *jsonReader) document(d *document) error {
	s.body = append(s.body[:0], '{')
	twice := false
	var name []byte
	err := object.Members(s.dec, func(v jsontext.Value) error {
		name = append(name[:0], v...)
		k := s.dec.PeekKind()
		s.line()
		if string(name) == `"items"` && (k == jsontext.KindBeginArray || k == jsontext.KindNull) {
			twice, d.listed = twice || d.listed, true
			return s.items(d, k)
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if len(s.body) > 1 {
			s.body = append(s.body, ',')
		}
		s.body = append(append(append(s.body, name...), ':'), value...)
		if int64(len(s.body)) > s.budget.limits.Object { // the limit restarts with each item, and "items" may occur many times
			return errTooLarge
		}
		return nil
	})
	s.body = append(s.body, '}')
	if err != nil {
		d.body = bytes.Clone(s.body)
		return err
	}
	if d.body, err = s.compact(s.body); err == nil && twice {
		err = errDuplicate
	}
	return err
}

// items reads the array of a document's items.
func (s *jsonReader) items(d *document, kind jsontext.Kind) error {
	if kind == jsontext.KindNull { // some clients write null for an empty list
		return s.dec.SkipValue()
	}
	return object.Elements(s.dec, func() error {
		s.in.left = s.budget.limits.Object
		line := s.line()
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		raw, err := s.compact(value)
		if err != nil && !errors.Is(err, errDuplicate) {
			return err
		}
		d.items = append(d.items, item{raw: raw, line: line, duplicate: err != nil})
		return s.budget.object()
	})
}

// compact returns a JSON value without white space. If a name occurs twice in one of its objects, the error is errDuplicate.
func (s *jsonReader) compact(value jsontext.Value) (out []byte, err error) {
	s.scratch, err = jsontext.AppendFormat(s.scratch[:0], value, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		err = errDuplicate
	}
	return bytes.Clone(s.scratch), err
}

// line is the line of the next token, which PeekKind has read.
func (s *jsonReader) line() int {
	unread := s.dec.UnreadBuffer()
	s.in.countTo(len(unread))
	token := bytes.TrimLeft(unread, " \t\r\n")
	if len(token) > 0 && (token[0] == ',' || token[0] == ':') {
		token = bytes.TrimLeft(token[1:], " \t\r\n")
	}
	line, _ := s.in.place(len(token))
	return line
}

// position is the place of an error.
func (s *jsonReader) position(err error) (line, column int) {
	unread := len(s.dec.UnreadBuffer())
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		unread -= int(max(syntax.ByteOffset-s.dec.InputOffset(), 0))
	}
	return s.in.place(max(unread, 0))
}

// atSeparator reports whether a line "---" or "# comment" is next. JSON does not have these lines, but files of JSON documents do.
func (s *jsonReader) atSeparator() bool {
	text := bytes.TrimLeft(s.dec.UnreadBuffer(), " \t\r\n")
	if len(text) < 3 {
		more := make([]byte, 3-len(text))
		n, _ := io.ReadFull(s.in, more) // the next Read returns the same error
		s.in.unread(n)
		text = slices.Concat(text, more[:n])
	}
	return bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("#"))
}

// skipLines skips the rest of the line, and all lines before one that begins with first. A first of 0 matches each line.
func (s *jsonReader) skipLines(first byte) error {
	s.in.unread(len(s.dec.UnreadBuffer()))
	defer s.dec.Reset(s.in, lenient)
	buf := make([]byte, 4096)
	begins := false
	for {
		s.in.left = s.budget.limits.Object
		n, err := s.in.Read(buf)
		for i, b := range buf[:n] {
			if begins && (first == 0 || b == first) {
				s.in.unread(n - i)
				return nil
			}
			begins = b == '\n'
		}
		s.in.countTo(0)
		if err != nil {
			return err
		}
	}
}
