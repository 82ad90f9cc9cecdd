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
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tidwall/pretty"
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
