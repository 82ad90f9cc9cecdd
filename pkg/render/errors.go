// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

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
