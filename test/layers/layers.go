// SPDX-License-Identifier: Apache-2.0

// Package layers searches data for texts in every layer of its encoding: archives, compressed data, base64 and JSON
// strings.
package layers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxDepth is the number of layers that are searched.
const maxDepth = 8

// Find returns the texts that are in a layer of the data, each with the layers around it: "gzip > tar secrets/a.json >
// base64: text".
func Find(data []byte, texts ...string) []string {
	s := search{texts: texts}
	s.in(data, "", maxDepth)
	slices.Sort(s.found)
	return slices.Compact(s.found)
}

type search struct {
	texts []string
	found []string
}

var encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}={0,2}`)

func (s *search) in(data []byte, where string, depth int) {
	if depth == 0 {
		return
	}
	for _, text := range s.texts {
		if bytes.Contains(data, []byte(text)) {
			s.found = append(s.found, where+": "+text)
		}
	}
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		plain, _ := io.ReadAll(z) // what precedes a damage is searched
		s.in(plain, where+" > gzip", depth-1)
		return
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		s.tar(data, where, depth)
		return
	}
	var v any
	if json.Unmarshal(data, &v) == nil {
		s.value(v, where, depth)
		return
	}
	for _, match := range encoded.FindAll(data, -1) {
		s.base64(string(match), where, depth)
	}
}

func (s *search) tar(data []byte, where string, depth int) {
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err != nil {
			return
		}
		plain, _ := io.ReadAll(r)
		s.in(plain, where+" > tar "+h.Name, depth-1)
	}
}

// value searches decoded JSON.
func (s *search) value(v any, where string, depth int) {
	switch v := v.(type) {
	case string:
		s.in([]byte(v), where+" > string", depth-1)
	case []any:
		for _, e := range v {
			s.value(e, where, depth)
		}
	case map[string]any:
		for key, e := range v {
			s.value(key, where, depth)
			s.value(e, where, depth)
		}
	}
}

func (s *search) base64(text, where string, depth int) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	for begin := range min(4, len(text)) { // a longer text may precede it
		part := text[begin:]
		if plain, err := base64.RawStdEncoding.DecodeString(part[:len(part)/4*4]); err == nil {
			s.in(plain, where+" > base64", depth-1)
		}
		if plain, err := base64.RawStdEncoding.DecodeString(part); err == nil {
			s.in(plain, where+" > base64", depth-1)
		}
		if begin == 0 && strings.HasPrefix(text, "H4sI") {
			return // gzip, which is searched
		}
	}
}
