// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// property is what the schema of a chart says of a value.
type property struct {
	Description string
	Properties  map[string]*property
}

// The table of values is between these lines.
const valuesBegin, valuesEnd = "<!-- `make generate` makes the table. -->\n", "<!-- the end of the table -->\n"

// chartReadme is the README of a chart with the table of its values: names and defaults of values.yaml, with the
// descriptions of values.schema.json.
func chartReadme(chart string) func() ([]byte, error) {
	return func() ([]byte, error) {
		dir := "manifests/" + chart + "/"
		var schema property
		text, err := os.ReadFile(dir + "values.schema.json")
		if err == nil {
			err = json.Unmarshal(text, &schema)
		}
		if err != nil {
			return nil, err
		}
		var values yaml.Node
		if text, err = os.ReadFile(dir + "values.yaml"); err == nil {
			err = yaml.Unmarshal(text, &values)
		}
		if err != nil {
			return nil, err
		}
		var table bytes.Buffer
		table.WriteString("\n| value | default | meaning |\n|---|---|---|\n")
		if err := valueRows(&table, "", values.Content[0], &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		readme, err := os.ReadFile(dir + "README.md")
		if err != nil {
			return nil, err
		}
		before, rest, found := strings.Cut(string(readme), valuesBegin)
		_, after, ended := strings.Cut(rest, valuesEnd)
		if !found || !ended {
			return nil, errors.New(dir + "README.md has no place for the table of values")
		}
		return []byte(before + valuesBegin + table.String() + "\n" + valuesEnd + after), nil
	}
}

// valueRows writes a row for each value in a table of values.yaml.
func valueRows(to *bytes.Buffer, prefix string, values *yaml.Node, schema *property) error {
	for i := 0; i < len(values.Content); i += 2 {
		key, value := prefix+values.Content[i].Value, values.Content[i+1]
		p := schema.Properties[values.Content[i].Value]
		switch {
		case p == nil:
			return fmt.Errorf("the schema does not have %s", key)
		case p.Properties != nil:
			if err := valueRows(to, key+".", value, p); err != nil {
				return err
			}
			continue
		case p.Description == "":
			return fmt.Errorf("the schema does not describe %s", key)
		}
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		standard, err := json.Marshal(decoded)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		fmt.Fprintf(to, "| `%s` | `%s` | %s |\n", key, standard, p.Description)
	}
	return nil
}
