// SPDX-License-Identifier: Apache-2.0

package unified

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Line is one line of a document, without its line end.
type Line struct {
	Text string
	// Difference is the index of the difference that the line belongs to.
	Difference int
}

// Document is one side of the differences of an object.
type Document []Line

// String returns the document as YAML.
func (d Document) String() string {
	var b strings.Builder
	for _, line := range d {
		b.WriteString(line.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// NewDocument returns a text of complete lines as a document.
func NewDocument(text string) Document {
	var out Document
	for line := range strings.Lines(text) {
		out = append(out, Line{Text: strings.TrimSuffix(line, "\n")})
	}
	return out
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
