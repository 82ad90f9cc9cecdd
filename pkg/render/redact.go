// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/redact"
)

var quoted = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”")

// redact removes from a library's message everything that may be a value: the lines after the first, quoted text that
// is not a file name of the bundle, the values, and the contents of the bundle's Secrets.
func (b *bundle) redact(message string) string {
	text, _, _ := strings.Cut(message, "\n")
	text, _, _ = strings.Cut(text, "node contents")
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Trim(s, "'\"`“”")
		if slices.ContainsFunc(b.resources, func(r resource) bool { return r.hasName(name) }) {
			return s
		}
		return "…"
	})
	return b.hide(text)
}

// hide replaces the values and the contents of the bundle's Secrets, and of those that were looked up, in a text, also
// if they are encoded, and shortens it.
func (b *bundle) hide(text string) string {
	const longest, shortest = 200, 3
	values, err := b.values()
	if err != nil {
		return "the reason is not shown"
	}
	all := append(b.secrets(), b.learned...)
	redact.Leaves(values, func(v string) { all = append(all, v) })
	var found []string
	for _, v := range all {
		if len(v) < shortest {
			continue
		}
		found = append(found, redact.Forms(v)...)
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
			found = append(found, string(decoded))
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // one text may be part of a longer one
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

// hasName reports whether name is the path of a file, or the end of the path.
func (r *resource) hasName(name string) bool { return strings.HasSuffix("/"+r.Name, "/"+name) }

// secrets returns the texts in the bundle that are values of Secrets, or from which such values are generated.
func (b *bundle) secrets() []string {
	var out []string
	for _, r := range b.resources {
		if !bytes.Contains(r.data, []byte("Secret")) && !bytes.Contains(r.data, []byte("secretGenerator")) {
			continue
		}
		for document := range strings.SplitSeq(string(r.data), "\n---") {
			var v map[string]any
			if yaml.Unmarshal([]byte(document), &v) != nil {
				continue
			}
			if v["kind"] == "Secret" {
				redact.Leaves([]any{v["data"], v["stringData"]}, func(s string) { out = append(out, s) })
			}
			redact.Leaves(v["secretGenerator"], func(s string) {
				_, literal, _ := strings.Cut(s, "=")
				out = append(append(out, literal), b.linesOf(s)...)
			})
		}
	}
	return out
}

// linesOf returns the lines of the files with that name, and the values that they assign.
func (b *bundle) linesOf(name string) []string {
	var out []string
	for _, r := range b.resources {
		if !r.hasName(name) {
			continue
		}
		for line := range strings.Lines(string(r.data)) {
			_, assigned, _ := strings.Cut(strings.TrimSpace(line), "=")
			out = append(out, strings.TrimSpace(line), assigned)
		}
	}
	return out
}
