// SPDX-License-Identifier: Apache-2.0

package render

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var quoted = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”")

// redact removes from a library's message all parts that could be a value: the lines after the first, quoted text that is not a file name of the
// bundle, the values themselves and the contents of the bundle's Secrets.
func (b *bundle) redact(err error) string {
	const longest, shortest = 200, 3
	text, _, _ := strings.Cut(err.Error(), "\n")
	text, _, _ = strings.Cut(text, "node contents")
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		if b.isFile(strings.Trim(s, "'\"`“”")) {
			return s
		}
		return "…"
	})
	values, valuesErr := b.values()
	if valuesErr != nil {
		return "its reason is not shown"
	}
	found := append(texts(values, nil), b.secrets()...)
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // longer ones before those they contain
	for _, v := range found {
		if len(v) >= shortest {
			text = strings.ReplaceAll(text, v, "…")
		}
	}
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return strings.TrimSpace(text)
}

// secrets returns the texts in the bundle that are values of Secrets, or from which they are generated.
func (b *bundle) secrets() []string {
	var out []string
	for i := range b.resources {
		if !strings.Contains(string(b.data[i]), "Secret") && !strings.Contains(string(b.data[i]), "secretGenerator") {
			continue
		}
		for _, document := range strings.Split(string(b.data[i]), "\n---") {
			var v map[string]any
			if yaml.Unmarshal([]byte(document), &v) != nil {
				continue
			}
			if v["kind"] == "Secret" {
				out = texts(v["stringData"], texts(v["data"], out))
			}
			for _, s := range texts(v["secretGenerator"], nil) {
				_, literal, _ := strings.Cut(s, "=")
				out = append(out, literal)
				out = append(out, b.linesOf(s)...)
			}
		}
	}
	return out
}

// linesOf returns the lines of the files with that name, and the values that they assign.
func (b *bundle) linesOf(name string) []string {
	var out []string
	for i, r := range b.resources {
		if r.Name != name && !strings.HasSuffix(r.Name, "/"+name) {
			continue
		}
		for line := range strings.Lines(string(b.data[i])) {
			_, assigned, _ := strings.Cut(strings.TrimSpace(line), "=")
			out = append(out, strings.TrimSpace(line), assigned)
		}
	}
	return out
}

// texts collects every text in a value.
func texts(v any, into []string) []string {
	switch v := v.(type) {
	case string:
		into = append(into, v)
	case map[string]any:
		for _, e := range v {
			into = texts(e, into)
		}
	case []any:
		for _, e := range v {
			into = texts(e, into)
		}
	}
	return into
}

// withoutUser drops user, password and query from an address; of one that is no URL, "git@host:path", what is before the "@".
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		address, _, _ = strings.Cut(address, "?")
		return address[strings.LastIndexByte(address, '@')+1:]
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
