// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"html"
	"regexp"
	"strings"
)

var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped returns the text without its URL and HTML escapes, if it has any. Programs differ in the characters that they escape.
func unescaped(text string) []string {
	var out []string
	if escapedByte.MatchString(text) {
		path := escapedByte.ReplaceAllStringFunc(text, func(s string) string {
			b, _ := hex.DecodeString(s[1:]) // the regular expression allows two hexadecimal digits only
			return string(b)
		})
		query := escapedByte.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), func(s string) string {
			b, _ := hex.DecodeString(s[1:])
			return string(b)
		})
		out = append(out, path, query)
	}
	if page := html.UnescapeString(text); page != text {
		out = append(out, page)
	}
	return out
}

// addUnescaped adds a text, and the text without its escapes.
func (x fragments) addUnescaped(text string) {
	x.add(text)
	for _, other := range unescaped(text) {
		x.add(other)
	}
}

// hideEscaped hides values in a text. It hides the whole text if an escaped value is left.
func hideEscaped(values *strings.Replacer, text string) string {
	hidden := values.Replace(text)
	for _, other := range unescaped(hidden) {
		if values.Replace(other) != other {
			return "***"
		}
	}
	return hidden
}
