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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
)

// validate validates the values against the schemas of the chart and its dependencies, as Helm does. Helm's own
// function would fetch remote schemas, and its message quotes values.
func (b *bundle) validate(values map[string]any) error {
	c := schemaCheck{fields: map[string]bool{}}
	c.run(b.chart, values, "")
	switch {
	case c.remote != "":
		b.addGap("values.schema.json refers to " + escape.WithoutCredentials(c.remote) +
			", so the values were not validated")
	case c.failed:
		reason := "the values do not match the schema"
		if len(c.fields) > 0 {
			reason += " at " + strings.Join(slices.Sorted(maps.Keys(c.fields)), ", ")
		}
		return b.in.fail("values.schema.json", reason)
	}
	return nil
}

// schemaCheck is the result of a validation.
type schemaCheck struct {
	failed bool
	// fields are the invalid fields, each with the rule of the schema.
	fields map[string]bool
	// remote is the address of a schema that is not part of the chart.
	remote string
}

// run validates values, which are at the path at, against the schemas of a chart and its dependencies.
func (c *schemaCheck) run(ch *chart.Chart, values map[string]any, at string) {
	if ch.Schema != nil {
		schema, err := validateOne(ch.Schema, values)
		if remote, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
			c.remote = strings.TrimPrefix(remote.URL, "file:///") // another file of the chart has no address
		} else if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			declared := map[string]bool{}
			declare(schema, declared)
			c.addFields(invalid, declared, at)
		}
		c.failed = c.failed || err != nil
	}
	for _, d := range ch.Dependencies() {
		if sub, ok := values[d.Name()].(map[string]any); ok {
			c.run(d, sub, at+"/"+d.Name())
		}
	}
}

// validateOne validates values against one schema and returns the decoded schema. It loads nothing.
func validateOne(text []byte, values map[string]any) (schema any, err error) {
	defer func() {
		if recover() != nil { // the library panics on some schemas
			err = errors.New("validating the values: the schema is not valid")
		}
	}()
	if schema, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	const name = "file:///values.schema.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, schema); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, err
	}
	return schema, compiled.Validate(values)
}

// addFields adds the fields of the errors that have no other error as cause.
func (c *schemaCheck) addFields(e *jsonschema.ValidationError, declared map[string]bool, at string) {
	if len(e.Causes) == 0 {
		c.fields[at+fieldOf(e.InstanceLocation, declared)+" ("+ruleOf(e.ErrorKind)+")"] = true
	}
	for _, cause := range e.Causes {
		c.addFields(cause, declared, at)
	}
}

// declare collects the names of fields that a schema declares.
func declare(schema any, names map[string]bool) {
	switch schema := schema.(type) {
	case []any:
		for _, e := range schema {
			declare(e, names)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			names[name] = true
		}
		for _, e := range schema {
			declare(e, names)
		}
	}
}

// maxIndex is the highest number that is shown as an index of a list. A higher number may be the name of a field, and
// secret.
const maxIndex = 999

// fieldOf returns the path of a field. A name that the schema does not declare comes from the values and is not shown.
func fieldOf(location []string, declared map[string]bool) string {
	shown := slices.Clone(location)
	for i, name := range location {
		n, err := strconv.ParseUint(name, 10, 64)
		if isIndex := err == nil && n <= maxIndex; !declared[name] && !isIndex {
			shown[i] = "*"
		}
	}
	return "/" + strings.Join(shown, "/")
}

// ruleOf returns the keyword of the schema that a value does not match, with the names of missing fields, which are the
// schema's own.
func ruleOf(k jsonschema.ErrorKind) string {
	if missing, ok := k.(*kind.Required); ok {
		return "required: " + strings.Join(missing.Missing, ", ")
	}
	if keyword := k.KeywordPath(); len(keyword) > 0 {
		return keyword[0]
	}
	return "not allowed"
}
