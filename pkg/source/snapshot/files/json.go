// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// jsonReader reads JSON documents one after the other, or in an array.
type jsonReader struct {
	budget  *Budget
	in      io.Reader
	lines   int   // that were read
	left    int64 // bytes of the object until it is too large
	dec     *jsontext.Decoder
	body    []byte // of the last document, to use its memory again
	scratch []byte
}

func newJSONReader(b *Budget, in io.Reader) *jsonReader {
	j := &jsonReader{budget: b, in: in, left: b.object()}
	j.dec = jsontext.NewDecoder(readFunc(j.read), jsontext.AllowInvalidUTF8(true))
	return j
}

// read reads the stream, counts lines and limits one object.
func (j *jsonReader) read(p []byte) (int, error) {
	if j.left <= 0 {
		return 0, errTooLarge
	}
	n, err := j.in.Read(p[:min(int64(len(p)), j.left)])
	j.left -= int64(n)
	j.lines += bytes.Count(p[:n], []byte("\n"))
	return n, err
}

// line is the line of what is decoded next.
func (j *jsonReader) line() int {
	next := bytes.TrimLeft(j.dec.UnreadBuffer(), " \t\r\n,:")
	return j.lines + 1 - bytes.Count(next, []byte("\n"))
}

// errorLine is the line of an error.
func (j *jsonReader) errorLine(err error) int {
	unread := j.dec.UnreadBuffer()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		before := int(syntax.ByteOffset - j.dec.InputOffset())
		unread = unread[max(min(before, len(unread)), 0):]
	}
	return j.lines + 1 - bytes.Count(unread, []byte("\n"))
}

// next reads the next object into d. It skips brackets, and returns false for a value that is not an object. At the end
// the error is io.EOF.
func (j *jsonReader) next(d *Document) (bool, error) {
	for {
		j.left = j.budget.object()
		kind := j.dec.PeekKind()
		d.line = j.line()
		switch kind {
		case jsontext.KindBeginObject:
			return true, j.object(d)
		case jsontext.KindBeginArray, jsontext.KindEndArray, jsontext.KindInvalid:
			if _, err := j.dec.ReadToken(); err != nil {
				return true, err
			}
		default:
			return false, j.dec.SkipValue()
		}
	}
}

// object reads an object into d. The body of a damaged one has the members before the damage.
func (j *jsonReader) object(d *Document) error {
	j.body = append(j.body[:0], '{')
	err := object.Members(j.dec, func(name jsontext.Value) error { return j.member(d, name) })
	j.body = append(j.body, '}')
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		d.Body = bytes.Clone(j.body)
		return err
	}
	d.Body, err = j.compact(j.body)
	return err
}

// member reads the value of a member.
func (j *jsonReader) member(d *Document, name jsontext.Value) error {
	begin := len(j.body)
	if begin > 1 {
		j.body = append(j.body, ',')
	}
	j.body = append(append(j.body, name...), ':')
	isItems := string(name) == `"items"`
	kind := j.dec.PeekKind()
	if isItems && (kind == jsontext.KindBeginArray || kind == jsontext.KindNull) {
		j.body, d.Listed = j.body[:begin], true
		if kind == jsontext.KindNull { // some clients write null for an empty list
			return j.dec.SkipValue()
		}
		return object.Elements(j.dec, func() error { return j.item(d) })
	}
	value, err := j.dec.ReadValue()
	if err != nil {
		j.body = j.body[:begin]
		return err
	}
	j.body = append(j.body, value...)
	return nil
}

// item reads an item of a document.
func (j *jsonReader) item(d *Document) error {
	j.left = j.budget.object()
	line := j.line()
	value, err := j.dec.ReadValue()
	if err != nil {
		return err
	}
	raw, err := j.compact(value)
	if err != nil {
		return err
	}
	d.Items = append(d.Items, Item{Raw: raw, line: line})
	return j.budget.Spend(ObjectCost)
}

// compact returns a valid JSON value without white space.
func (j *jsonReader) compact(value jsontext.Value) (out []byte, err error) {
	j.scratch, err = jsontext.AppendFormat(j.scratch[:0], value, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	return bytes.Clone(j.scratch), err
}
