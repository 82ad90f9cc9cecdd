// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonStream reads JSON documents one after the other, or in an array, with or without lines between them.
type jsonStream struct {
	limits  Limits
	count   func() error // of each item
	in      *lined
	dec     *jsontext.Decoder
	base    int64  // the offset in the file at which the decoder began
	body    []byte // of the last document, to be used again
	scratch []byte
}

// json reads a file of JSON documents. After a damaged one it goes on with the next line that begins with "{": that is where the next
// document begins both in JSON lines and in indented JSON.
func (r *reader) json(f *file, in io.Reader) error {
	s := jsonStream{limits: r.budget.limits, count: r.budget.object, in: &lined{r: in, left: r.budget.limits.Object}}
	s.dec = jsontext.NewDecoder(s.in, lenient, lenientUTF8)
	for n, damaged := 1, 0; ; n++ {
		d := &document{number: n, body: s.body[:0]}
		kind, err := s.next(d)
		if err == nil && kind != 0 {
			err = r.budget.object()
		}
		if err == nil && kind == '{' {
			err = s.document(d)
		}
		s.body = d.body
		switch {
		case err == nil && kind == 0:
			return nil
		case err == nil && kind == '{':
			if d.twice > 0 {
				d.damaged = true
				f.damaged(f.at(d.twice, 0, n), reason(errDuplicate))
			}
			if err := r.take(f, d); err != nil {
				return err
			}
			continue
		case err == nil:
			f.other(d.line)
			continue
		case stops(err):
			return r.keep(f, d, err)
		}
		damaged++
		d.damaged = true
		line, column := s.position(err)
		if n > 1 && broken(err) { // documents of any kind may be lost after it
			f.harmed = true
			f.gap(f.at(line, column, n), reason(err), effectRest)
			r.evidence.cut(f.arg.index)
		} else {
			f.damaged(f.at(line, column, n), reason(err))
		}
		if d.listed {
			if err := r.take(f, d); err != nil {
				return err
			}
		}
		if broken(err) {
			return nil
		}
		if damaged > maxDamaged {
			f.damaged(f.name, "most of it is damaged; the rest was not read")
			return nil
		}
		more, err := s.resync()
		if err != nil && !stops(err) {
			f.damaged(f.name, reason(err))
			return nil
		}
		if !more {
			return err
		}
	}
}

// broken says that nothing more can be read of the stream.
func broken(err error) bool {
	var syntax *jsontext.SyntacticError
	return !errors.As(err, &syntax) && !errors.Is(err, errTooLarge) || errors.Is(err, io.ErrUnexpectedEOF)
}

// next finds the next document and returns the kind of its JSON: '{' with nothing read of it, another kind that was passed over,
// 0 at the end of the file.
func (s *jsonStream) next(d *document) (jsontext.Kind, error) {
	for {
		s.arm()
		kind := s.dec.PeekKind()
		unread := s.dec.UnreadBuffer()
		before := len(unread) - len(bytes.TrimLeft(unread, " \t\r\n,"))
		d.line, _ = s.in.position(s.offset() + int64(before))
		switch kind {
		case '{':
			return kind, nil
		case '[', ']':
			if _, err := s.dec.ReadToken(); err != nil {
				return kind, err
			}
		default: // no document, or what only looks like one: "---" begins as a number does
			err := s.dec.SkipValue()
			if err == nil {
				return kind, nil
			}
			if broken(err) {
				return 0, noEnd(err)
			}
			skipped, err := s.separator()
			if err != nil {
				return 0, noEnd(err)
			}
			if !skipped {
				return kind, nil
			}
		}
	}
}

// noEnd returns err unless it is the end of the file between two documents.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// document reads an object, of which nothing was read yet, into d.
func (s *jsonStream) document(d *document) error {
	d.body = append(d.body, '{')
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	seen := map[string]struct{}{}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := s.once(seen, name); err != nil {
			s.duplicate(d)
		}
		isItems := string(name) == `"items"`
		before := len(d.body)
		if before > 1 {
			d.body = append(d.body, ',')
		}
		d.body = append(append(d.body, name...), ':') // name is gone after the next call of dec
		if k := s.dec.PeekKind(); isItems && (k == '[' || k == 'n') {
			d.body = d.body[:before]
			if err := s.items(d); err != nil {
				return err
			}
			continue
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if d.body, err = compact(d.body, value); errors.Is(err, errDuplicate) {
			s.duplicate(d)
			d.body = append(d.body, "null"...)
		} else if err != nil {
			return err
		}
		if int64(len(d.body)) > s.limits.Object { // each item arms anew, and there may be items again and again
			return errTooLarge
		}
	}
	d.body = append(d.body, '}')
	_, err := s.dec.ReadToken()
	return err
}

// once returns errDuplicate if the name was seen.
func (s *jsonStream) once(seen map[string]struct{}, name jsontext.Value) error {
	key := string(name)
	if strings.Contains(key, `\`) {
		plain, err := jsontext.AppendUnquote(nil, name)
		if err != nil {
			return err
		}
		key = `"` + string(plain) + `"`
	}
	if _, ok := seen[key]; ok {
		return errDuplicate
	}
	seen[key] = struct{}{}
	return nil
}

// duplicate notes that the document has a key twice. Its reading goes on, so that the next document is found.
func (s *jsonStream) duplicate(d *document) {
	if d.twice == 0 {
		d.twice, _ = s.in.position(s.offset())
	}
}

// items reads the array of a document's items.
func (s *jsonStream) items(d *document) error {
	d.listed = true
	if s.dec.PeekKind() == 'n' { // what typed clients write for an empty list
		return s.dec.SkipValue()
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != ']' {
		s.arm()
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		line, _ := s.in.position(s.offset() - int64(len(value)))
		s.scratch, err = compact(s.scratch[:0], value)
		if err != nil && !errors.Is(err, errDuplicate) {
			return err
		}
		d.items = append(d.items, item{raw: bytes.Clone(s.scratch), line: line, err: err})
		if err := s.count(); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// compact appends a JSON value without white space. The error of one that has a name twice in one object is errDuplicate; nothing is
// appended of it.
func compact(dst []byte, value jsontext.Value) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, value, lenientUTF8, jsontext.PreserveRawStrings(true))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return dst, errDuplicate
	}
	return out, err
}

func (s *jsonStream) offset() int64 { return s.base + s.dec.InputOffset() }

func (s *jsonStream) arm() { s.in.arm(s.offset(), s.limits.Object) }

// position says where an error is.
func (s *jsonStream) position(err error) (line, column int) {
	offset := s.offset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		offset = max(offset, s.base+syntax.ByteOffset)
	}
	return s.in.position(offset)
}

// separator passes over a line "---" or "# comment" between documents, which JSON does not know. If there is none, the error is that of
// what is there instead.
func (s *jsonStream) separator() (bool, error) {
	s.in.unread(s.dec.UnreadBuffer())
	var line []byte
	for len(line) < 3 {
		b, err := s.in.readByte()
		if err != nil {
			break
		}
		if len(line) > 0 || b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			line = append(line, b)
		}
	}
	s.in.unread(line)
	found := bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("#"))
	if found {
		return true, s.skipLines(func(byte) bool { return true })
	}
	s.restart()
	return false, s.dec.SkipValue()
}

// resync passes over what is left of a damaged document, and says whether there is another.
func (s *jsonStream) resync() (bool, error) {
	s.in.unread(s.dec.UnreadBuffer())
	err := s.skipLines(func(first byte) bool { return first == '{' })
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// skipLines passes over the rest of the line, and lines after it, up to one whose first byte is wanted.
func (s *jsonStream) skipLines(wanted func(first byte) bool) error {
	buf := make([]byte, 4096)
	begins := false
	for {
		s.in.arm(s.in.offset, s.limits.Object)
		n, err := s.in.Read(buf)
		for i, b := range buf[:n] {
			if begins && wanted(b) {
				s.in.unread(buf[i:n])
				s.restart()
				return nil
			}
			begins = b == '\n'
		}
		if err != nil {
			s.restart()
			return err
		}
	}
}

// restart begins anew at what the stream has next.
func (s *jsonStream) restart() {
	s.base = s.in.offset
	s.dec.Reset(s.in, lenient, lenientUTF8)
}
