// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"iter"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// prefixLength is the number of leading bytes of a value that are encoded to check whether a text may contain a form of the value. It is a
// multiple of a base64 group. It is long enough that the prefix still has minLength bytes after one form has collapsed its blanks.
const prefixLength = 48

var encodings = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

// forms yields the encodings of a value that may occur in a text. Each form of a prefix of the value is a prefix of a form of the value.
func forms(v string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range []func(string) []string{literal, base64Forms, escapedForms, singleLine} {
			for _, f := range list(v) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

func literal(v string) []string {
	lower := hex.EncodeToString([]byte(v))
	return []string{v, lower, strings.ToUpper(lower)}
}

// base64Forms returns the base64 forms of a value: the value alone, the same escaped for a URL, and the value within a longer encoded text. In
// a longer text, the value begins at one of three offsets in a base64 group.
func base64Forms(v string) []string {
	var out []string
	for _, e := range encodings {
		out = append(out, e.EncodeToString([]byte(v)))
	}
	out = append(out, url.QueryEscape(out[0]))
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			out = append(out, embedded(e, v, before))
		}
	}
	return out
}

// embedded returns the base64 characters that depend on the value alone if `before` bytes precede it in its group and any bytes follow it.
func embedded(e *base64.Encoding, v string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
	first := []int{0, 2, 3}[before]
	if (before+len(v))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[min(first, len(text)):]
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

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
		out = append(out, address, percent.ReplaceAllStringFunc(address, strings.ToLower))
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
