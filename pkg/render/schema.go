// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
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
func (c *schemaCheck) run(ch *chart.Chart, values map[string]any, path string) {
	if ch.Schema != nil {
		schema, err := validateOne(ch.Schema, values)
		if remote, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
			c.remote = strings.TrimPrefix(remote.URL, "file:///") // another file of the chart has no address
		} else if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			declared := map[string]bool{}
			declare(schema, declared)
			c.addFields(invalid, declared, path)
		}
		c.failed = c.failed || err != nil
	}
	for _, d := range ch.Dependencies() {
		if sub, ok := values[d.Name()].(map[string]any); ok {
			c.run(d, sub, path+"/"+d.Name())
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
func (c *schemaCheck) addFields(e *jsonschema.ValidationError, declared map[string]bool, path string) {
	if len(e.Causes) == 0 {
		c.fields[path+fieldOf(e.InstanceLocation, declared)+" ("+ruleOf(e.ErrorKind)+")"] = true
	}
	for _, cause := range e.Causes {
		c.addFields(cause, declared, path)
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

// readManifests reads the objects in the same way as from a release record.
func (b *bundle) readManifests() error {
	res := b.result
	read := func(into *[]release.Object, file, manifest string) error {
		r := release.Record{Name: release.Name{Namespace: res.ReleaseNamespace, Name: res.ReleaseName,
			Revision: b.in.Revision}, Manifest: manifest}
		objs, err := r.Objects()
		if err != nil {
			return b.in.fail(file, "the kind, name or namespace of an object is not a string")
		}
		*into = append(*into, objs...)
		return nil
	}
	err := read(&res.Objects, "", b.manifest)
	for _, hook := range b.hooks {
		err = cmp.Or(err, read(&res.Hooks, "", hook.Manifest))
	}
	for _, crd := range b.chart.CRDObjects() {
		err = cmp.Or(err, read(&res.CRDs, crd.Filename, string(crd.File.Data)))
	}
	return err
}

// compareRenderings returns the differences between two renderings of the same input.
func compareRenderings(first, second []release.Object) ([]Unstable, error) {
	rest := map[object.Ref][]release.Object{} // objects of the second rendering with the same name, in their order
	for _, o := range second {
		rest[o.Ref] = append(rest[o.Ref], o)
	}
	var out []Unstable
	for _, a := range first {
		same := rest[a.Ref]
		if len(same) == 0 {
			out = append(out, Unstable{Object: a.Ref, Pointers: []string{""}})
			continue
		}
		rest[a.Ref] = same[1:]
		differing, err := differences(a.Raw, same[0].Raw)
		if err != nil {
			return nil, err
		}
		if len(differing) > 0 {
			if a.GroupVersionKind() == secretKind {
				differing = inData(differing)
			}
			out = append(out, Unstable{Object: a.Ref, Pointers: differing})
		}
	}
	for ref, objs := range rest { // objects that only the second rendering has
		for range objs {
			out = append(out, Unstable{Object: ref, Pointers: []string{""}})
		}
	}
	slices.SortStableFunc(out, func(a, b Unstable) int {
		return cmp.Or(a.Object.Compare(b.Object), len(a.Pointers)-len(b.Pointers))
	})
	return out, nil
}

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// inData changes the pointers of a Secret into stringData to pointers into data: the API server moves the values there.
func inData(pointers []string) []string {
	for i, p := range pointers {
		if rest, ok := strings.CutPrefix(p, "/stringData"); ok && (rest == "" || rest[0] == '/') {
			pointers[i] = "/data" + rest
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

// differences returns pointers to the fields that differ between two objects.
func differences(a, b []byte) ([]string, error) {
	if bytes.Equal(a, b) {
		return nil, nil
	}
	x, _, errX := object.Decode(a)
	y, _, errY := object.Decode(b)
	return pointers("", x, y), errors.Join(errX, errY)
}

// pointers returns pointers to the smallest parts of two values that differ. Lists of different lengths differ as a
// whole.
func pointers(parent string, a, b any) (out []string) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return []string{parent}
		}
		both := maps.Clone(x)
		maps.Copy(both, y)
		for _, k := range slices.Sorted(maps.Keys(both)) {
			path := parent + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
			l, inX := x[k]
			if r, inY := y[k]; inX != inY {
				out = append(out, path)
			} else {
				out = append(out, pointers(path, l, r)...)
			}
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return []string{parent}
		}
		for i := range x {
			out = append(out, pointers(parent+"/"+strconv.Itoa(i), x[i], y[i])...)
		}
		return out
	}
	if !reflect.DeepEqual(a, b) {
		out = append(out, parent)
	}
	return out
}
