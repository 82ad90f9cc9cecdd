// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ErrNoReport is returned for a document that is not the report of an audit.
var ErrNoReport = errors.New("not the report of an audit")

// maxYAML is the size of the largest report in YAML. The parser of YAML needs many times the memory of that of JSON.
const maxYAML = 64 << 20

// Decode reads the report of an audit in JSON or YAML. Its errors name the document, and quote no value of it.
func Decode(name string, content []byte) (*report.Audit, error) {
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] != '{' {
		if len(trimmed) > maxYAML {
			return nil, fmt.Errorf("%s has more than %d MiB of YAML: make the report with -o json", name, maxYAML>>20)
		}
		converted, err := yaml.YAMLToJSON(content)
		if err != nil {
			return nil, fmt.Errorf("%s is %w: it is neither JSON nor YAML", name, ErrNoReport)
		}
		content = converted
	}
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	if head.APIVersion != report.APIVersion || head.Kind != report.Kind {
		return nil, fmt.Errorf("%s is %w: its kind is %q of %q, expected %q of %q", name, ErrNoReport, head.Kind, head.APIVersion, report.Kind, report.APIVersion)
	}
	var out report.Audit
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, fmt.Errorf("%s is %w: %s", name, ErrNoReport, position(content, err))
	}
	return &out, nil
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
