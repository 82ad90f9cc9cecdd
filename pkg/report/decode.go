// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// ErrNoReport is returned for a document that is not the report of an audit.
var ErrNoReport = errors.New("not the report of an audit")

const (
	// MaxReport is the size of the largest report that callers read, in bytes.
	MaxReport = 512 << 20
	// maxYAML is the size of the largest report in YAML. The parser of YAML needs many times the memory of that of
	// JSON.
	maxYAML = 64 << 20
	// maxEntries is the largest number of entries of a report: objects and elements of lists. A finding has about 500
	// bytes in memory.
	maxEntries = 1_000_000
	// maxYAMLEntries is that of a report in YAML, with its lines.
	maxYAMLEntries = 2_000_000
	// entrySize is the least average size of an entry, in bytes. Entries of an audit have more than 100 bytes on
	// average, empty entries have 3.
	entrySize = 32
	// freeEntries is a number of entries of any size.
	freeEntries = 10_000
)

// DecodeAudit reads the report of an audit in JSON or YAML. Its errors name the document, and quote no value of it.
func DecodeAudit(name string, content []byte) (*Audit, error) {
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] != '{' {
		if len(trimmed) > maxYAML {
			return nil, fmt.Errorf("%s has more than %d MiB of YAML: make the report with -o json", name, maxYAML>>20)
		}
		// The parser of YAML has no streaming: each entry begins after one of these characters, or is nested, which it
		// limits.
		if n := bytes.Count(content, []byte(",")) + bytes.Count(content, []byte("\n")); n > maxYAMLEntries {
			return nil, fmt.Errorf("%s has more than %d lines and entries of YAML: make the report with -o json",
				name, maxYAMLEntries)
		}
		converted, err := yaml.YAMLToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("%s is %w: it is neither JSON nor YAML", name, ErrNoReport)
		}
		content = converted
	}
	var head struct {
		APIVersion, Kind string
		Summary          struct{ Baseline *int }
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	if head.APIVersion != APIVersion || head.Kind != Kind {
		return nil, fmt.Errorf("%s is %w: its kind is %q of %q, expected %q of %q", name, ErrNoReport, head.Kind,
			head.APIVersion, Kind, APIVersion)
	}
	if head.Summary.Baseline != nil {
		return nil, fmt.Errorf("%s was made with the removed flag --baseline of the previous version, and does not "+
			"list the findings that were known then: make it again", name)
	}
	if n, most := entries(content), min(maxEntries, freeEntries+len(content)/entrySize); n > most {
		return nil, fmt.Errorf("%s has %d entries: of a report of %d KiB, at most %d are read",
			name, n, len(content)>>10, most)
	}
	var out Audit
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	return &out, nil
}

// entries returns the number of objects and of elements of lists in a JSON document, or in its part before an error.
func entries(content []byte) int {
	n := 0
	d := jsontext.NewDecoder(bytes.NewReader(content),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return n
		}
		parent, _ := d.StackIndex(d.StackDepth())
		switch kind := token.Kind(); kind {
		case jsontext.KindEndObject, jsontext.KindEndArray: // counted at its begin
		case jsontext.KindBeginObject:
			n++
		default:
			if parent == jsontext.KindBeginArray {
				n++
			}
		}
	}
}

// position describes an error of the decoder, with the line.
func position(content []byte, err error) string {
	line := func(offset int64) int { return 1 + bytes.Count(content[:min(int(offset), len(content))], []byte("\n")) }
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("line %d: it is not JSON, or it is truncated", line(e.Offset))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return "it has no fields: it is a value of the type " + e.Value
		}
		return fmt.Sprintf("line %d: the field %s has a wrong type", line(e.Offset), e.Field)
	}
	return "it is not JSON"
}
