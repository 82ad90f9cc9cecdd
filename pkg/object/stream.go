// SPDX-License-Identifier: Apache-2.0

package object

import "github.com/go-json-experiment/json/jsontext"

// Members reads the JSON object that is next. It calls member after each name, and member reads the value. The name has
// its quotes and is valid until the value is read.
func Members(dec *jsontext.Decoder, member func(name jsontext.Value) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// Elements reads the JSON array that is next. It calls element before each value, and element reads the value.
func Elements(dec *jsontext.Decoder, element func() error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndArray {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}
