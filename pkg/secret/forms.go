// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forms returns the encodings of a value that may occur in a text. Each form of a prefix of the value is a prefix of a
// form of the value.
func Forms(v string) []string {
	digits := hex.EncodeToString([]byte(v))
	return slices.Concat([]string{v, digits, strings.ToUpper(digits)}, base64Forms(v), escapedForms(v), singleLine(v))
}

// base64Forms returns the base64 forms of a value: the value alone, the same escaped for a URL, and the value within a
// longer encoded text. In a longer text, the value begins at one of three offsets in a base64 group.
func base64Forms(v string) []string {
	out := []string{url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(v)))}
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(v)))
	}
	for before := range 3 {
		out = append(out, embedded(base64.RawStdEncoding, v, before), embedded(base64.RawURLEncoding, v, before))
	}
	return out
}

// embedded returns the base64 characters that depend on the value alone if `before` bytes precede it in its group and
// any bytes follow it.
func embedded(e *base64.Encoding, v string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
	first := []int{0, 2, 3}[before]
	if (before+len(v))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[min(first, len(text)):]
}

// escapedByte matches one escaped byte of a URL.
var escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// escapedForms returns the value as JSON, YAML and Go write it in a string, and as HTML and URLs escape it.
func escapedForms(v string) []string {
	var out []string
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(v); err == nil {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`))
		}
	}
	quoted := strconv.Quote(v)
	page := html.EscapeString(v)
	out = append(out, quoted[1:len(quoted)-1], strings.ReplaceAll(v, "'", "''"), page,
		strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(page))
	for _, address := range []string{url.QueryEscape(v), url.PathEscape(v)} {
		out = append(out, address, escapedByte.ReplaceAllStringFunc(address, strings.ToLower))
	}
	return out
}

// singleLine returns the forms of a multi-line value on one line.
func singleLine(v string) []string {
	if !strings.ContainsAny(v, "\r\n\t") {
		return nil
	}
	unix := strings.ReplaceAll(v, "\r\n", "\n")
	return []string{unix, strings.Join(strings.Fields(v), " "), strings.ReplaceAll(unix, "\n", " "),
		strings.ReplaceAll(unix, "\n", ""), strings.ReplaceAll(unix, "\n", `\n`)}
}

// number matches the number of a character, in hexadecimal or octal digits.
const number = `(?:U[0-9a-fA-F]{8}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0?[0-3][0-7]{2})`

var (
	// escapedChar matches what stands for a character in a string of JSON, YAML, Go or a shell, and the end of a line
	// that continues on the next one.
	escapedChar   = regexp.MustCompile(`\\(?:` + number + `|\r?\n[ \t]*|.)|''`)
	escapedNumber = regexp.MustCompile(`^` + number + `$`)
)

var escapes = map[string]string{`\n`: "\n", `\r`: "\r", `\t`: "\t", `''`: "'"}

// unescapedChar returns the character for which an escape stands.
func unescapedChar(escape string) string {
	if plain, known := escapes[escape]; known {
		return plain
	}
	text, base := escape[1:], 16
	switch {
	case text[0] == '\n' || text[0] == '\r':
		return ""
	case len(text) < 3 || !escapedNumber.MatchString(text):
		return text
	case text[0] <= '9':
		base = 8
	}
	r, _ := strconv.ParseUint(strings.TrimLeft(text, "Uux"), base, 32) // the expression allows only digits of the base
	return string(rune(r))
}

// Unescaped returns the text without the escapes of strings, and without those of URLs and HTML, if it has any.
// Programs differ in the characters that they escape.
func Unescaped(text string) []string {
	var out []string
	if strings.Contains(text, `\`) || strings.Contains(text, "''") {
		out = append(out, escapedChar.ReplaceAllStringFunc(text, unescapedChar))
	}
	if escapedByte.MatchString(text) {
		for _, address := range []string{text, strings.ReplaceAll(text, "+", " ")} { // a path, a query
			out = append(out, escapedByte.ReplaceAllStringFunc(address, func(s string) string {
				b, _ := hex.DecodeString(s[1:]) // the regular expression allows only hexadecimal digits
				return string(b)
			}))
		}
	}
	if page := html.UnescapeString(text); page != text {
		out = append(out, page)
	}
	return out
}
