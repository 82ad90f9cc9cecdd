// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// schemaFaults says which values do not meet the schemas of a chart and its dependencies: the fields, and the rules. Helm's own message quotes
// values, and names of fields that only the values have.
func schemaFaults(ch *chart.Chart, values map[string]any) string {
	found := map[string]bool{}
	collectFaults(ch, values, "", found)
	if len(found) == 0 {
		return ""
	}
	return " at " + strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

func collectFaults(ch *chart.Chart, values map[string]any, at string, found map[string]bool) {
	var invalid *jsonschema.ValidationError
	if ch.Schema != nil && errors.As(validate(ch.Schema, values), &invalid) {
		declared := map[string]bool{}
		if schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(ch.Schema)); err == nil {
			declare(schema, declared)
		}
		eachFault(invalid, func(e *jsonschema.ValidationError) {
			found[at+fieldOf(e.InstanceLocation, declared)+" ("+ruleOf(e.ErrorKind)+")"] = true
		})
	}
	for _, d := range ch.Dependencies() {
		if sub, ok := values[d.Name()].(map[string]any); ok {
			collectFaults(d, sub, at+"/"+d.Name(), found)
		}
	}
}

// validate does what Helm does with one schema, for an error that has parts. A schema that refers elsewhere never gets here; it loads nothing.
func validate(schema []byte, values map[string]any) (err error) {
	defer func() {
		if recover() != nil { // as Helm does: the library panics on some schemas
			err = errors.New("validating the values: the schema cannot be used")
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	const name = "file:///values.schema.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, document); err != nil {
		return err
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return err
	}
	return compiled.Validate(values)
}

// eachFault calls f with the errors that have no cause beneath them.
func eachFault(e *jsonschema.ValidationError, f func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		f(e)
	}
	for _, cause := range e.Causes {
		eachFault(cause, f)
	}
}

// declare notes the names of fields that a schema states.
func declare(schema any, names map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, e := range schema {
			declare(e, names)
		}
	case map[string]any:
		for key, e := range schema {
			if properties, ok := e.(map[string]any); ok && key == "properties" {
				for name := range properties {
					names[name] = true
				}
			}
			declare(e, names)
		}
	}
}

// maxIndex bounds what is taken for the place of an element in a list. Beyond, it may be a field whose name is a secret number.
const maxIndex = 999

// fieldOf writes the way to a field. A name that the schema does not state comes from the values: it is not shown.
func fieldOf(location []string, declared map[string]bool) string {
	var out strings.Builder
	for _, name := range location {
		if i, err := strconv.Atoi(name); !declared[name] && (err != nil || i < 0 || i > maxIndex) {
			name = "*"
		}
		out.WriteString("/" + name)
	}
	if out.Len() == 0 {
		return "/"
	}
	return out.String()
}

// ruleOf names the keyword of the schema that a value does not meet, and which fields are missing: their names are the schema's.
func ruleOf(k jsonschema.ErrorKind) string {
	if missing, ok := k.(*kind.Required); ok {
		return "required: " + strings.Join(missing.Missing, ", ")
	}
	if keyword := k.KeywordPath(); len(keyword) > 0 {
		return keyword[0]
	}
	return "not allowed"
}
