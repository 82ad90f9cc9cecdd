// SPDX-License-Identifier: Apache-2.0

package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// EncodeYAML returns a value as YAML, made from its JSON. The document decodes to the same value, and has escapes for
// the characters that are not printable.
func EncodeYAML(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// The library reads the JSON as YAML. YAML permits some characters only as escapes, and has no pairs of escapes.
	out, err := yaml.JSONToYAML(escaped(raw, func(r rune) bool { return r <= 0xffff && unsafeInJSON(r) }))
	if err != nil || Text(string(out)) == string(out) {
		return out, err
	}
	return marked(raw)
}

// marked writes YAML with strings that have characters which the library does not escape. The library escapes C0
// control characters in any string, and quotes the string. So each of those characters is replaced by its number
// between two control characters, which an escape then replaces.
func marked(raw []byte) ([]byte, error) {
	mark := 0
	for bytes.Contains(raw, []byte(fmt.Sprintf("x01%d:", mark))) { // so that no text looks like a mark
		mark++
	}
	var document any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(MapTexts(document, func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r != '\t' && r != '\n' && hidden(r) {
				fmt.Fprintf(&b, "\x01%d:%08x\x02", mark, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}))
	if err != nil {
		return nil, err
	}
	out, err := yaml.JSONToYAML(raw)
	if err != nil {
		return nil, err
	}
	short := regexp.MustCompile(fmt.Sprintf(`\\x01%d:0000([0-9a-f]{4})\\x02`, mark))
	long := regexp.MustCompile(fmt.Sprintf(`\\x01%d:([0-9a-f]{8})\\x02`, mark))
	return long.ReplaceAll(short.ReplaceAll(out, []byte(`\u$1`)), []byte(`\U$1`)), nil
}

// Lines returns a decoded JSON document after Line was applied to each of its strings and keys.
func Lines(v any) any { return MapTexts(v, Line) }

// MapTexts returns a copy of a decoded JSON document after f was applied to each of its strings and keys.
func MapTexts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = MapTexts(v[i], f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[f(k)] = MapTexts(e, f)
		}
		return out
	}
	return v
}
