// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Error says why a bundle cannot be rendered. Libraries quote invalid input, which may be a secret. Reason does not.
type Error struct {
	Bundle string
	// File is a path within the bundle or its chart. It is empty if the error is in no file.
	File   string
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("rendering bundle %s: %s", e.Bundle, e.detail()) }

func (e *Error) detail() string {
	if e.File == "" {
		return e.Reason
	}
	return e.File + ": " + e.Reason
}

func (in Input) fail(file, reason string) error {
	return &Error{Bundle: in.Name, File: file, Reason: reason}
}

// ClusterScopedError is returned for a bundle that has a targetNamespace and cluster-scoped objects. The agent refuses
// to deploy the bundle. Source: docs/fleet-behavior.md, 1.3.
type ClusterScopedError struct {
	Bundle  string
	Objects []object.Ref
}

func (e *ClusterScopedError) Error() string {
	names := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		names[i] = o.Key().String()
	}
	return fmt.Sprintf("rendering bundle %s: cluster-scoped under a targetNamespace: %s", e.Bundle,
		strings.Join(names, ", "))
}

// LimitError is returned for a bundle that exceeds a limit of the process that renders it. Fleet's agent may be able to
// deploy the bundle.
type LimitError struct {
	Bundle string
	// Limit is the exceeded limit with its unit: "10 s", "512 MiB of memory".
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("rendering bundle %s: %s", e.Bundle, e.Detail())
}

// Detail is the error without the name of the bundle.
func (e *LimitError) Detail() string { return "it exceeded " + e.Limit }

var (
	yamlLine     = regexp.MustCompile(`line (\d+)(: did not find expected)?`)
	templateLine = regexp.MustCompile(`[^\s:("]+/templates/[^\s:()"]+:\d+(:\d+)?`)
)

// LineOf returns the line number in an error of a YAML library, as " (line 3)", and nothing else of the error. text is
// the YAML, or nil. The library counts the lines of syntax errors from 0, and those of other errors from 1.
func LineOf(err error, text []byte) string {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return ""
	}
	if m[2] != "" {
		line++
	}
	if text != nil {
		// an error at the end of the text is in its last line
		line = min(line, 1+bytes.Count(bytes.TrimRight(text, " \t\r\n"), []byte("\n")))
	}
	return fmt.Sprintf(" (line %d)", line)
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
