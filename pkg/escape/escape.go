// SPDX-License-Identifier: Apache-2.0

// Package escape makes foreign text safe to print: names, messages of servers and arguments of the command line may hold control
// characters that drive a terminal, or bidirectional ones that make a line read otherwise than it is written. It is the only place that
// decides which characters those are.
package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text for one line of a terminal. A tab stays; every other character that is not printable becomes U+FFFD, a line end too.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && hidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Text returns text for a terminal. It does what Line does, and keeps line ends.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && hidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// hidden says whether a character is not seen as itself: control and format characters, separators other than the blank, and what is not
// assigned.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// JSON returns a JSON document that decodes to the same value, with the characters of its strings that are not printable as \u escapes. Layout
// between the values stays.
func JSON(document []byte) []byte { return escaped(document, unsafeInJSON) }

// escaped returns a JSON document with those characters as \u escapes.
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
		for _, unit := range utf16.Encode([]rune{r}) { // beyond 16 bits JSON has pairs
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}

// unsafeInJSON leaves the control characters below the blank alone: within strings they are escaped already, between values they are layout.
func unsafeInJSON(r rune) bool { return r >= ' ' && hidden(r) }

// EncodeJSON writes a value as JSON, as encoding/json does, indented by indent, with HTML characters as they are.
func EncodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(JSON(b.Bytes()))
	return err
}

// TextWriter passes text on to a terminal as Text returns it. Each Write must hold whole characters, as those of package fmt do.
func TextWriter(w io.Writer) io.Writer {
	return writer{w, func(p []byte) []byte { return []byte(Text(string(p))) }}
}

// JSONWriter passes JSON on as JSON returns it. Each Write must hold whole characters, as those of log/slog do.
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

// printable says whether every character of a document can be shown, line ends and tabs aside.
func printable(document []byte) bool {
	return utf8.Valid(document) && !bytes.ContainsFunc(document, func(r rune) bool { return r != '\t' && r != '\n' && hidden(r) })
}
