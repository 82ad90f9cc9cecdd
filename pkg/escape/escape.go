// SPDX-License-Identifier: Apache-2.0

// Package escape makes text of other programs and users safe to print. Names, messages of servers and arguments can
// contain control characters that act on a terminal, and bidirectional characters that change the visible order of a
// line. Only this package decides which characters are printable, and how an argument of a command line is quoted.
package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tidwall/pretty"
	"sigs.k8s.io/yaml"
)

// Line returns text for one line of a terminal. Each character that is not printable, except a tab, becomes U+FFFD.
// This includes line ends.
func Line(s string) string { return replaced(s, "\t") }

// Text returns text for a terminal, as Line does, but keeps line ends.
func Text(s string) string { return replaced(s, "\t\n") }

func replaced(s, kept string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) && !strings.ContainsRune(kept, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// hidden reports whether a character is invisible or acts on a terminal: control and format characters, separators
// other than the blank, characters that are not assigned, and those with the property Default_Ignorable_Code_Point of
// Unicode, of which IsPrint knows only a part.
func hidden(r rune) bool {
	ascii := r >= ' ' && r <= '~' // nearly all characters: the comparison is faster than IsPrint
	return !ascii && (!unicode.IsPrint(r) ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// JSON returns a JSON document that decodes to the same value, and escapes with \u the characters in its strings that
// are not printable. It keeps the layout between values.
func JSON(document []byte) []byte { return escaped(document, unsafeInJSON) }

// escaped returns a JSON document with \u escapes for some characters.
func escaped(document []byte, which func(rune) bool) []byte {
	if !bytes.ContainsFunc(document, which) {
		return document
	}
	var b bytes.Buffer
	for _, r := range string(document) {
		if !which(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) { // JSON has pairs for characters of more than 16 bits
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// unsafeInJSON excludes the control characters below the blank: in strings they are escaped already, between values
// they are layout.
func unsafeInJSON(r rune) bool { return r >= ' ' && hidden(r) }

// EncodeJSON writes a value as encoding/json does, indented by indent, without escapes for HTML.
func EncodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	document := JSON(b.Bytes())
	if indent != "" {
		// json.Indent needs several times as long
		document = pretty.PrettyOptions(document, &pretty.Options{Indent: indent})
	}
	_, err := w.Write(document)
	return err
}

// TextWriter writes text to a terminal as Text returns it. Each Write must have complete characters, as those of
// package fmt have.
func TextWriter(w io.Writer) io.Writer {
	return writer{w, func(p []byte) []byte { return []byte(Text(string(p))) }}
}

// JSONWriter writes JSON as JSON returns it. Each Write must have complete characters, as those of log/slog have.
func JSONWriter(w io.Writer) io.Writer { return writer{w, JSON} }

type writer struct {
	to     io.Writer
	escape func([]byte) []byte
}

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	if _, err := w.to.Write(w.escape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

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
