// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Item is one object of a stream. Its slices are valid until the next one is read.
type Item struct {
	// Raw is the JSON of the object without metadata.managedFields, which are often half of the object.
	Raw []byte
	// ManagedFields is the JSON of metadata.managedFields; empty if there are none.
	ManagedFields []byte
	// Meta is the metadata; nil if it could not be decoded.
	Meta *Meta
}

// ItemReader reads the objects of a stream. It reads most of an object only once, because most objects of a large list are not decoded.
type ItemReader struct {
	// raw is the object. It begins with the members that Meta has; rest are the others.
	raw, rest     []byte
	managedFields []byte
	// escaped is true if a name has an escape sequence: it may be one of the names that Read compares.
	escaped bool
}

// Read reads the next object of a stream. The error is an error of the stream.
func (r *ItemReader) Read(dec *jsontext.Decoder) (Item, error) {
	r.raw, r.rest, r.managedFields, r.escaped = append(r.raw[:0], '{'), r.rest[:0], r.managedFields[:0], false
	if dec.PeekKind() != jsontext.KindBeginObject {
		raw, err := dec.ReadValue()
		if err != nil {
			return Item{}, err
		}
		meta, _ := ReadMeta(raw)
		return Item{Raw: raw, Meta: meta}, nil
	}
	err := r.members(dec, func(name jsontext.Value) error {
		switch string(name) {
		case `"metadata"`:
			return r.metadata(dec, name)
		case `"apiVersion"`, `"kind"`:
			return copyMember(&r.raw, dec, name)
		}
		return copyMember(&r.rest, dec, name)
	})
	if err != nil {
		return Item{}, err
	}
	r.raw = append(r.raw, '}')
	meta, _ := ReadMeta(r.raw)
	if len(r.rest) > 0 {
		r.raw = append(append(appendComma(r.raw[:len(r.raw)-1]), r.rest...), '}')
	}
	if r.escaped {
		meta, _ = ReadMeta(r.raw)
	}
	return Item{Raw: r.raw, ManagedFields: r.managedFields, Meta: meta}, nil
}

// metadata reads the metadata without managedFields.
func (r *ItemReader) metadata(dec *jsontext.Decoder, name jsontext.Value) error {
	r.raw = appendName(r.raw, name)
	if dec.PeekKind() != jsontext.KindBeginObject {
		return copyValue(&r.raw, dec)
	}
	r.raw = append(r.raw, '{')
	err := r.members(dec, func(name jsontext.Value) error {
		if string(name) == `"managedFields"` {
			r.managedFields = r.managedFields[:0]
			return copyValue(&r.managedFields, dec)
		}
		return copyMember(&r.raw, dec, name)
	})
	r.raw = append(r.raw, '}')
	return err
}

func (r *ItemReader) members(dec *jsontext.Decoder, member func(name jsontext.Value) error) error {
	return Members(dec, func(name jsontext.Value) error {
		r.escaped = r.escaped || bytes.IndexByte(name, '\\') >= 0
		return member(name)
	})
}

func copyMember(to *[]byte, dec *jsontext.Decoder, name jsontext.Value) error {
	*to = appendName(*to, name)
	return copyValue(to, dec)
}

func copyValue(to *[]byte, dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	*to = append(*to, value...)
	return err
}

// appendName appends the name of the next member.
func appendName(to []byte, name jsontext.Value) []byte {
	return append(append(appendComma(to), name...), ':')
}

// appendComma appends a comma if there is a member before it.
func appendComma(to []byte) []byte {
	if n := len(to); n == 0 || to[n-1] == '{' {
		return to
	}
	return append(to, ',')
}
