// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"fmt"
	"strconv"

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

// Head is the identity of an object in a manifest.
type Head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	// Items are the objects of a List; nil if there is no such field.
	Items []jsontext.Value `json:"items"`
}

// ReadHead reads the identity from the JSON of one object. The JSON must be valid: not all of it is read.
func ReadHead(raw []byte) (Head, error) {
	var h Head
	s := scanner{raw: raw}
	if s.head(&h) {
		return h, nil
	}
	h = Head{}
	err := Into(raw, &h)
	return h, err
}

// head reads the identity in JSON of the usual form without items.
func (s *scanner) head(h *Head) bool {
	return s.members(func(name []byte) bool {
		switch string(name) {
		case "apiVersion":
			return s.plainString(&h.APIVersion)
		case "kind":
			return s.plainString(&h.Kind)
		case "items":
			return false
		case "metadata":
			return s.members(func(name []byte) bool {
				switch string(name) {
				case "name":
					return s.plainString(&h.Metadata.Name)
				case "generateName":
					return s.plainString(&h.Metadata.GenerateName)
				case "namespace":
					return s.plainString(&h.Metadata.Namespace)
				}
				return s.pass()
			})
		}
		return s.pass()
	})
}

// members reads an object. value reads the value of each name. The JSON must be valid: commas are not checked.
func (s *scanner) members(value func(name []byte) bool) bool {
	if !s.at('{') {
		return false
	}
	for ended := s.at('}'); !ended; ended = s.at('}') {
		s.at(',')
		begin := s.next + 1
		if !s.at('"') || !s.plain() {
			return false
		}
		name := s.raw[begin:s.next]
		s.next++
		if !s.at(':') || !value(name) {
			return false
		}
	}
	return true
}

// plainString decodes a string of printable ASCII characters without escape sequences.
func (s *scanner) plainString(to *string) bool {
	begin := s.next + 1
	if !s.at('"') || !s.plain() {
		return false
	}
	*to = string(s.raw[begin:s.next])
	s.next++
	return true
}

// texts decodes a map of such strings.
func (s *scanner) texts(to *map[string]string) bool {
	out := map[string]string{}
	ok := s.members(func(name []byte) bool {
		var text string
		ok := s.plainString(&text)
		out[string(name)] = text
		return ok
	})
	if ok {
		*to = out
	}
	return ok
}

// pass moves past a value. The JSON must be valid: only the nesting is checked. White space is not in the usual form.
func (s *scanner) pass() bool {
	for depth := 0; s.next < len(s.raw); s.next++ {
		switch s.raw[s.next] {
		case '"':
			if !s.passString() {
				return false
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']', ',':
			if depth == 0 {
				return true
			}
			if s.raw[s.next] != ',' {
				depth--
			}
		case ' ', '\t', '\r', '\n':
			return false
		}
	}
	return false
}

// passString moves from the opening quote of a string to its closing quote.
func (s *scanner) passString() bool {
	for begin := s.next; ; {
		end := bytes.IndexByte(s.raw[s.next+1:], '"')
		if end < 0 {
			return false
		}
		s.next += 1 + end
		text := s.raw[begin+1 : s.next]
		if escapes := len(text) - len(bytes.TrimRight(text, `\`)); escapes%2 == 0 {
			return true
		}
	}
}

// Decode decodes the JSON of one object. It returns metadata.managedFields, often half of an object, as separate JSON
// (nil if there are none), because they are read only for objects that differ. managedFields is a slice of raw; the
// content shares no memory with raw. The strings of a small object share memory with each other.
func Decode(raw []byte) (content Content, managedFields []byte, err error) {
	if content, managedFields, ok := scan(raw); ok {
		return content, managedFields, nil
	}
	return decode(raw)
}

// decode is Decode for JSON of any form.
func decode(raw []byte) (content Content, managedFields []byte, err error) {
	// jsontext copies the data of every reader except a bytes.Buffer.
	d := decoder{dec: jsontext.NewDecoder(bytes.NewBuffer(raw), lenient)}
	v, err := d.value(0)
	if err != nil {
		return nil, nil, fmt.Errorf("decoding object: %w", err)
	}
	content, ok := v.(Content)
	if !ok {
		return nil, nil, fmt.Errorf("decoding object: it is not a JSON object")
	}
	return content, d.managedFields, nil
}

type decoder struct {
	dec           *jsontext.Decoder
	managedFields []byte
	inMetadata    bool
}

// value decodes the next value. jsontext limits the nesting to 10,000 levels.
func (d *decoder) value(depth int) (any, error) {
	switch d.dec.PeekKind() {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	}
	t, err := d.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default:
		return nil, nil
	}
}

func (d *decoder) object(depth int) (any, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	m := make(Content, 8)
	for d.dec.PeekKind() != '}' {
		t, err := d.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := t.String()
		if d.inMetadata && depth == 1 && name == "managedFields" {
			v, err := d.dec.ReadValue()
			if err != nil {
				return nil, err
			}
			d.managedFields = v
			continue
		}
		if depth == 0 {
			d.inMetadata = name == "metadata"
		}
		if m[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := d.dec.ReadToken()
	return m, err
}

func (d *decoder) list(depth int) (any, error) {
	l := []any{}
	err := Elements(d.dec, func() error {
		v, err := d.value(depth + 1)
		l = append(l, v)
		return err
	})
	return l, err
}

// number decodes an integer as int64, as apimachinery does: messages show 10 and not 10.0, and 2^53+1 keeps its last
// digit.
func number(s string) (any, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	return strconv.ParseFloat(s, 64)
}
