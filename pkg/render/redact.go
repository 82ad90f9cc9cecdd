// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
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
	secret.Leaves(values, func(v string) { all = append(all, v) })
	var found []string
	for _, v := range all {
		if len(v) < shortest {
			continue
		}
		found = append(found, secret.Forms(v)...)
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
				secret.Leaves([]any{v["data"], v["stringData"]}, func(s string) { out = append(out, s) })
			}
			secret.Leaves(v["secretGenerator"], func(s string) {
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

// plainReasons are the beginnings of those messages of the template engine that contain only types and names of fields.
var plainReasons = []string{"nil pointer evaluating", "can't evaluate field", "wrong type for value",
	"wrong number of args",
	"function ", "undefined variable", "map has no entry for key", "unexpected ", "no template ", "range can't iterate",
	"error calling include"}

// templateError returns the line where a template failed, with the reason: a message of the template engine, or the
// text of a call of fail or required in the chart. Values in it are hidden.
func (b *bundle) templateError(err error) error {
	text := strings.TrimSpace(err.Error())
	reason := "the template failed"
	last := text[strings.LastIndexByte(text, '\n')+1:]
	for _, part := range append(strings.Split(last, ": "), last) {
		part = strings.TrimSpace(part)
		plain := slices.ContainsFunc(plainReasons, func(p string) bool { return strings.HasPrefix(part, p) })
		if len(part) > 3 && (plain || inTemplates(b.chart, part)) {
			return b.in.fail(templateLine.FindString(text), reason+": "+b.redact(part))
		}
	}
	if at := placeEnd.FindAllStringIndex(last, -1); at != nil {
		reason += ": " + b.hide(last[at[len(at)-1][1]:])
	}
	return b.in.fail(templateLine.FindString(text), reason)
}

// placeEnd is the end of the place in an error of the template engine: "execution error at (app/templates/a.yaml:1:3):
// ", "at <fail .a>: ".
var placeEnd = regexp.MustCompile(`\.\w+:\d+:\d+\): |>: `)

// inTemplates reports whether a text is a string in the templates of a chart or of its dependencies.
func inTemplates(ch *chart.Chart, s string) bool {
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte(`"`+s+`"`)) || bytes.Contains(t.Data, []byte("`"+s+"`")) {
			return true
		}
	}
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return inTemplates(d, s) })
}

// chartReason returns why Helm cannot load a chart. Helm's messages about YAML and JSON may quote the file.
func (b *bundle) chartReason(err error) string {
	text := err.Error()
	if strings.Contains(text, "YAML") || strings.Contains(text, "yaml:") || strings.Contains(text, "JSON") {
		return LineOf(err, nil)
	}
	return ": " + b.redact(text)
}
