// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/hex"
	"html"
	"regexp"
	"strings"
)

var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped returns a text with the escapes of URLs and of HTML undone, as far as it has any. Which characters are escaped differs from program to
// program.
func unescaped(text string) []string {
	var out []string
	if escapedByte.MatchString(text) {
		path := escapedByte.ReplaceAllStringFunc(text, func(s string) string {
			b, _ := hex.DecodeString(s[1:]) // two digits, as the expression says
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

// shown adds a text as it is shown, and as it reads with its escapes undone.
func (x shingles) shown(text string) {
	x.add(text)
	for _, other := range unescaped(text) {
		x.add(other)
	}
}

// hideEscaped hides values in a text, and the whole text where one is left once its escapes are undone.
func hideEscaped(values *strings.Replacer, text string) string {
	hidden := values.Replace(text)
	for _, other := range unescaped(hidden) {
		if values.Replace(other) != other {
			return "***"
		}
	}
	return hidden
}
