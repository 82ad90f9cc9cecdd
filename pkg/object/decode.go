// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

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
