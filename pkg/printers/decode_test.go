// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// decode decodes JSON or YAML, with all numbers as float64.
func decode(t *testing.T, s string) any {
	t.Helper()
	var v any
	if strings.HasPrefix(s, "{") {
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatalf("decoding JSON: %v", err)
		}
		return v
	}
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("decoding YAML: %v", err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	v = nil
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// errWriter fails like a full disk.
type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
