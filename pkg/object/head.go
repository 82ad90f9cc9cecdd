// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

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
