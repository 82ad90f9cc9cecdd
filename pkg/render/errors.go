// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Error is why a bundle cannot be rendered. Libraries quote what they cannot read, and that may be a secret: Reason never does.
type Error struct {
	Bundle string
	// File is a path within the bundle or its chart; empty where the fault is in none.
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

// ClusterScopedError is returned for a bundle whose targetNamespace forbids its cluster-scoped objects. The agent refuses to deploy any of it.
// Source: docs/fleet-behavior.md, 1.3.
type ClusterScopedError struct {
	Bundle  string
	Objects []object.Ref
}

func (e *ClusterScopedError) Error() string {
	names := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		names[i] = o.Key().String()
	}
	return fmt.Sprintf("rendering bundle %s: cluster-scoped under a targetNamespace: %s", e.Bundle, strings.Join(names, ", "))
}

// LimitError is returned for a bundle whose templates exceed a limit of the process that renders it. It says nothing of what Fleet's agent
// would make of the bundle.
type LimitError struct {
	Bundle string
	// Limit is what was exceeded, with its unit: "10 s", "512 MiB of memory".
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("rendering bundle %s: %s", e.Bundle, e.Detail())
}

// Detail is the error without the name of the bundle.
func (e *LimitError) Detail() string { return "it exceeded " + e.Limit }

var (
	yamlLine     = regexp.MustCompile(`line \d+`)
	templateLine = regexp.MustCompile(`[^\s:("]+/templates/[^\s:()"]+:\d+(:\d+)?`)
)

// lineOf returns the place that a YAML error names, and nothing else of it.
func lineOf(err error) string {
	if at := yamlLine.FindString(err.Error()); at != "" {
		return " (" + at + ")"
	}
	return ""
}

// plainReasons begin those messages of template engines that name types and fields only.
var plainReasons = []string{"nil pointer evaluating", "can't evaluate field", "wrong type for value", "wrong number of args",
	"function ", "undefined variable", "map has no entry for key", "unexpected ", "no template ", "range can't iterate", "error calling include"}

// templateError says where a template failed, and why if the reason cannot hold a value: Helm's own words for a fault in the template, or the
// author's for fail and required, if they stand in the chart as they are.
func (b *bundle) templateError(ch *chart.Chart, err error) error {
	text := err.Error()
	file := templateLine.FindString(text)
	reason := "the template failed"
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, part := range append(strings.Split(last, ": "), last) {
		if part = strings.TrimSpace(part); len(part) > 3 && (inTemplates(ch, part) || isPlain(part)) {
			reason += ": " + b.redact(fmt.Errorf("%s", part))
			break
		}
	}
	return b.in.fail(file, reason)
}

func isPlain(s string) bool {
	return slices.ContainsFunc(plainReasons, func(p string) bool { return strings.HasPrefix(s, p) })
}

func inTemplates(ch *chart.Chart, s string) bool {
	for _, t := range ch.Templates {
		if bytes.Contains(t.Data, []byte(`"`+s+`"`)) || bytes.Contains(t.Data, []byte("`"+s+"`")) {
			return true
		}
	}
	return slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return inTemplates(d, s) })
}

// chartReason is what Helm finds missing in a chart. What it says of YAML may quote it.
func (b *bundle) chartReason(err error) string {
	text := err.Error()
	if strings.Contains(text, "YAML") || strings.Contains(text, "yaml:") || strings.Contains(text, "JSON") {
		return lineOf(err)
	}
	return ": " + b.redact(err)
}

func (b *bundle) isFile(name string) bool {
	for _, r := range b.resources {
		if r.Name == name || strings.HasSuffix(r.Name, "/"+name) {
			return true
		}
	}
	return false
}
