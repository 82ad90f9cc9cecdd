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

// beginning is how many bytes of a value its forms are made of to find out whether they can be in a text at all. It holds whole groups of
// base64, and is long enough that a few blanks in it, which one form folds, leave more than shortest.
const beginning = 48

var encodings = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}

// forms are those in which a value may turn up in a text. The forms of a value's beginning begin as those of the value do.
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

// base64Forms are the value encoded alone, as an URL writes that, and as a part of something longer that is encoded: there it begins at one of
// three places of a group.
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

// embedded is the part of base64 that a value decides alone, with some bytes before it in its group and any after it.
func embedded(e *base64.Encoding, v string, before int) string {
	text := e.EncodeToString([]byte(strings.Repeat("\x00", before) + v))
	first := []int{0, 2, 3}[before]
	if (before+len(v))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[min(first, len(text)):]
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// escapedForms are the value as it stands inside a string of JSON, YAML or Go, in HTML and in an URL.
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

// singleLine are the forms of a value of several lines in one.
func singleLine(v string) []string {
	if !strings.ContainsAny(v, "\r\n\t") {
		return nil
	}
	unix := strings.ReplaceAll(v, "\r\n", "\n")
	return []string{unix, strings.Join(strings.Fields(v), " "), strings.ReplaceAll(unix, "\n", " "),
		strings.ReplaceAll(unix, "\n", ""), strings.ReplaceAll(unix, "\n", `\n`)}
}
