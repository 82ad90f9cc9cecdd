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

// ItemReader reads the objects of a stream. It reads most of an object only once, because most objects of a large list
// are not decoded.
type ItemReader struct {
	// raw is the object. It begins with the members that Meta has; rest are the others.
	raw, rest     []byte
	managedFields []byte
	meta          *Meta // what was decoded so far
	// unusual is true if the library must decode the metadata: a name has an escape sequence, so it may equal one that
	// Read compares, or a value is not a plain string or could not be decoded.
	unusual bool
}

// Read reads the next object of a stream. The error is an error of the stream.
func (r *ItemReader) Read(dec *jsontext.Decoder) (Item, error) {
	*r = ItemReader{raw: append(r.raw[:0], '{'), rest: r.rest[:0], managedFields: r.managedFields[:0], meta: &Meta{}}
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
		case `"apiVersion"`:
			return r.text(&r.meta.APIVersion, dec, name)
		case `"kind"`:
			return r.text(&r.meta.Kind, dec, name)
		}
		_, err := copyMember(&r.rest, dec, name)
		return err
	})
	if err != nil {
		return Item{}, err
	}
	if len(r.rest) > 0 {
		r.raw = append(appendComma(r.raw), r.rest...)
	}
	r.raw = append(r.raw, '}')
	if r.unusual {
		r.meta, _ = ReadMeta(r.raw)
	}
	return Item{Raw: r.raw, ManagedFields: r.managedFields, Meta: r.meta}, nil
}

// metadata reads the metadata without managedFields.
func (r *ItemReader) metadata(dec *jsontext.Decoder, name jsontext.Value) error {
	r.raw = appendName(r.raw, name)
	if dec.PeekKind() != jsontext.KindBeginObject {
		r.unusual = true
		_, err := copyValue(&r.raw, dec)
		return err
	}
	r.raw = append(r.raw, '{')
	m := &r.meta.Metadata
	err := r.members(dec, func(name jsontext.Value) error {
		switch string(name) {
		case `"managedFields"`:
			r.managedFields = r.managedFields[:0]
			_, err := copyValue(&r.managedFields, dec)
			return err
		case `"name"`:
			return r.text(&m.Name, dec, name)
		case `"namespace"`:
			return r.text(&m.Namespace, dec, name)
		case `"uid"`:
			return r.text(&m.UID, dec, name)
		case `"resourceVersion"`:
			return r.text(&m.ResourceVersion, dec, name)
		case `"creationTimestamp"`:
			return r.text(&m.CreationTimestamp, dec, name)
		case `"deletionTimestamp"`:
			return r.text(&m.DeletionTimestamp, dec, name)
		case `"labels"`:
			return r.texts(&m.Labels, dec, name)
		case `"annotations"`:
			return r.texts(&m.Annotations, dec, name)
		case `"ownerReferences"`:
			return r.value(&m.OwnerReferences, dec, name)
		}
		_, err := copyMember(&r.raw, dec, name)
		return err
	})
	r.raw = append(r.raw, '}')
	return err
}

// text reads a member that is a string.
func (r *ItemReader) text(to *string, dec *jsontext.Decoder, name jsontext.Value) error {
	return r.decode(dec, name, func(value jsontext.Value) bool {
		s := scanner{raw: value}
		return s.plainString(to)
	})
}

// texts reads a member that is a map of strings.
func (r *ItemReader) texts(to *map[string]string, dec *jsontext.Decoder, name jsontext.Value) error {
	return r.decode(dec, name, func(value jsontext.Value) bool {
		s := scanner{raw: value}
		return *to == nil && s.texts(to) || Into(value, to) == nil
	})
}

// value reads a member of another type.
func (r *ItemReader) value(to any, dec *jsontext.Decoder, name jsontext.Value) error {
	return r.decode(dec, name, func(value jsontext.Value) bool { return Into(value, to) == nil })
}

// decode copies a member to raw, and decodes its value. If decode returns false, the library decodes the metadata.
func (r *ItemReader) decode(dec *jsontext.Decoder, name jsontext.Value, decode func(value jsontext.Value) bool) error {
	value, err := copyMember(&r.raw, dec, name)
	if err == nil && !decode(value) {
		r.unusual = true
	}
	return err
}

func (r *ItemReader) members(dec *jsontext.Decoder, member func(name jsontext.Value) error) error {
	return Members(dec, func(name jsontext.Value) error {
		r.unusual = r.unusual || bytes.IndexByte(name, '\\') >= 0
		return member(name)
	})
}

// copyMember returns the value of the member.
func copyMember(to *[]byte, dec *jsontext.Decoder, name jsontext.Value) (jsontext.Value, error) {
	*to = appendName(*to, name)
	return copyValue(to, dec)
}

func copyValue(to *[]byte, dec *jsontext.Decoder) (jsontext.Value, error) {
	value, err := dec.ReadValue()
	*to = append(*to, value...)
	return value, err
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
