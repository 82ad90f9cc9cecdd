// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDepth limits the nesting in the usual form. Schemas of CustomResourceDefinitions have about 50 levels.
	maxDepth = 200
	// maxDigits limits the digits of a number in the usual form, so that it is an int64.
	maxDigits = 18
	// maxShared limits the size, in bytes, of an object whose strings share one allocation: each of them that is kept
	// keeps all of it.
	maxShared = 8 << 10
)

// scanner decodes the usual form of JSON, which is the form that API servers write: no white space, and integers only.
// It needs about half of the time of the library, because it makes no tokens. It accepts no other form; the library
// decodes those.
type scanner struct {
	raw           []byte
	next          int    // offset in raw
	copied        string // raw, if the strings of a decoded object are parts of it
	managedFields []byte
	names         *names
}

// scan decodes one object; ok is false if its JSON is not in the usual form.
func scan(raw []byte) (content Content, managedFields []byte, ok bool) {
	known, _ := pooledNames.Get().(*names)
	defer pooledNames.Put(known)
	s := scanner{raw: raw, names: known}
	if len(raw) <= maxShared {
		s.copied = string(raw)
	}
	if !s.at('{') {
		return nil, nil, false
	}
	content, ok = s.object(0, false)
	return content, s.managedFields, ok && s.next == len(raw)
}

// at moves past the next byte if it is c.
func (s *scanner) at(c byte) bool {
	if s.next < len(s.raw) && s.raw[s.next] == c {
		s.next++
		return true
	}
	return false
}

// literal moves past a literal name.
func (s *scanner) literal(name string) bool {
	if len(s.raw)-s.next >= len(name) && string(s.raw[s.next:s.next+len(name)]) == name {
		s.next += len(name)
		return true
	}
	return false
}

// value decodes a value in a collection of the given depth. metadata is true for the metadata of the object.
func (s *scanner) value(depth int, metadata bool) (any, bool) {
	switch {
	case s.at('"'):
		return s.text()
	case s.at('{'):
		return s.object(depth+1, metadata)
	case s.at('['):
		return s.list(depth + 1)
	case s.literal("true"):
		return true, true
	case s.literal("false"):
		return false, true
	case s.literal("null"):
		return nil, true
	}
	return s.integer()
}

func (s *scanner) object(depth int, metadata bool) (Content, bool) {
	m := make(Content, 8)
	if s.at('}') {
		return m, true
	}
	for depth < maxDepth && s.at('"') {
		begin := s.next
		if !s.plain() {
			return nil, false
		}
		name := s.raw[begin:s.next]
		s.next++
		var ok bool
		switch {
		case !s.at(':'):
			return nil, false
		case metadata && string(name) == "managedFields":
			ok = s.skip()
		default:
			key := s.names.of(name)
			m[key], ok = s.value(depth, depth == 0 && key == "metadata")
		}
		switch {
		case !ok:
			return nil, false
		case s.at('}'):
			return m, true
		case !s.at(','):
			return nil, false
		}
	}
	return nil, false
}

// skip moves past the managedFields. The library checks them.
func (s *scanner) skip() bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(s.raw[s.next:]), lenient)
	v, err := dec.ReadValue()
	s.managedFields = v
	s.next += int(dec.InputOffset())
	return err == nil
}

func (s *scanner) list(depth int) ([]any, bool) {
	l := []any{}
	if s.at(']') {
		return l, true
	}
	for depth < maxDepth {
		v, ok := s.value(depth, false)
		l = append(l, v)
		switch {
		case !ok:
			return nil, false
		case s.at(']'):
			return l, true
		case !s.at(','):
			return nil, false
		}
	}
	return nil, false
}

// plain moves to the end of a string of printable ASCII characters without escape sequences. If it meets another
// character, it stops there.
func (s *scanner) plain() bool {
	for i, c := range s.raw[s.next:] {
		if c == '"' {
			s.next += i
			return true
		}
		if c == '\\' || c < ' ' || c > '~' {
			s.next += i
			return false
		}
	}
	return false
}

// text decodes the string after its opening quote.
func (s *scanner) text() (string, bool) {
	begin := s.next
	if s.plain() {
		s.next++
		if s.copied != "" {
			return s.copied[begin : s.next-1], true
		}
		return string(s.raw[begin : s.next-1]), true
	}
	for s.next < len(s.raw) && !s.at('"') {
		s.at('\\')
		s.next++
	}
	v, err := jsontext.AppendUnquote(nil, s.raw[begin-1:min(s.next, len(s.raw))])
	return string(v), err == nil
}

// integer decodes a number. What follows it is checked by the caller.
func (s *scanner) integer() (any, bool) {
	begin := s.next
	s.at('-')
	first := s.next
	for s.next < len(s.raw) && '0' <= s.raw[s.next] && s.raw[s.next] <= '9' {
		s.next++
	}
	digits := s.next - first
	if digits == 0 || digits > maxDigits {
		return nil, false
	}
	if digits > 1 && s.raw[first] == '0' {
		return nil, false
	}
	n, err := strconv.ParseInt(string(s.raw[begin:s.next]), 10, 64)
	return n, err == nil
}

// names are the names of members that were decoded last, so that most objects need no memory for them.
type names [512]string

var pooledNames = sync.Pool{New: func() any { return new(names) }}

// of returns a name as a string.
func (n *names) of(name []byte) string {
	const longest = 64
	if len(name) == 0 || len(name) > longest {
		return string(name)
	}
	entry := &n[(uint(len(name))*31+uint(name[0])*7+uint(name[len(name)-1]))%uint(len(n))]
	if *entry != string(name) {
		*entry = string(name)
	}
	return *entry
}
