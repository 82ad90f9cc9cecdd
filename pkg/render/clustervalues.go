// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// labelPrefix begins a value that is replaced by a label of the cluster.
const labelPrefix = "global.fleet.clusterLabels."

// maxLabelDepth is the depth of values below which Fleet refuses to replace labels.
const maxLabelDepth = 50

// clusterValues evaluates the templates in the values of a fleet.yaml as Fleet's management cluster does. It adds gaps
// and returns false if there are templates and the cluster is not known. Source: docs/fleet-behavior.md, 2.5.
func (b *bundle) clusterValues() (known bool, err error) {
	if !b.in.FromFiles {
		return true, nil
	}
	helm := *b.in.Options.Helm
	if b.in.Cluster == nil {
		values, err := valuesOf(&helm)
		if err != nil {
			return false, b.in.fail("", err.Error())
		}
		paths := clusterPaths(&helm, values)
		for _, path := range paths {
			b.result.Gaps = append(b.result.Gaps, "helm.values"+path+" depends on the labels of the cluster")
		}
		return len(paths) == 0, nil
	}
	if helm.Values, err = evaluated(&helm, b.in.Cluster); err != nil {
		return false, b.in.fail("", err.Error())
	}
	b.in.Options.Helm = &helm
	return true, b.otherValues()
}

// otherValues returns the error of the first other cluster whose values cannot be evaluated: Fleet then updates no
// cluster. For clusters that the GitRepo may not target any more, it is a gap.
func (b *bundle) otherValues() error {
	for _, other := range b.in.Others {
		for i := range other.Clusters {
			switch _, err := evaluated(other.Helm, &other.Clusters[i]); {
			case err == nil:
			case !other.Outdated:
				return b.in.fail("", err.Error()+", which it targets too: Fleet updates none of its clusters")
			default:
				b.result.Gaps = append(b.result.Gaps, err.Error()+", which its Bundle targets now, and its GitRepo "+
					"does not: as long as the Bundle targets it, Fleet updates none of its clusters")
				return nil
			}
		}
	}
	return nil
}

// valuesOf decodes the values of a fleet.yaml.
func valuesOf(helm *v1alpha1.HelmOptions) (map[string]any, error) {
	values := map[string]any{}
	if len(helm.Values) > 0 && json.Unmarshal(helm.Values, &values) != nil {
		return nil, errors.New("its values are not a map")
	}
	return values, nil
}

// evaluated returns the values for a cluster, as JSON.
func evaluated(helm *v1alpha1.HelmOptions, c *ClusterContext) ([]byte, error) {
	values, err := valuesOf(helm)
	if err != nil {
		return nil, err
	}
	labels := exported(c.Labels)
	for k, v := range c.Labels {
		if strings.HasPrefix(k, "fleet.cattle.io/") || strings.HasPrefix(k, "management.cattle.io/") {
			labels[k] = v
		}
	}
	if len(labels) == 0 || helm.TemplateValues == nil && len(values) == 0 {
		return helm.Values, nil
	}
	if values, err = templated(helm, values, labels, c); err != nil {
		return nil, errors.New("targeting error: " + err.Error() + " for cluster " + c.Namespace + "/" + c.Name)
	}
	out, err := json.Marshal(values)
	if err != nil {
		return nil, errors.New("its values cannot be encoded as JSON")
	}
	return out, nil
}

// exported returns the labels or annotations that Fleet passes to templates.
func exported(in map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		if !strings.HasPrefix(k, "kubectl.kubernetes.io/") && !strings.Contains(k, "cattle.io/") {
			out[k] = v
		}
	}
	return out
}

// templated returns the values with their templates evaluated. It changes the map.
func templated(helm *v1alpha1.HelmOptions, values map[string]any, labels map[string]any,
	c *ClusterContext) (map[string]any, error) {
	if !replaceLabels(values, labels, 0) {
		return nil, errors.New("maximum recursion depth exceeded for cluster label prefix processing")
	}
	if helm.DisablePreProcess {
		return values, nil
	}
	templateValues := map[string]any{}
	if len(c.Values) > 0 && json.Unmarshal(c.Values, &templateValues) != nil {
		return nil, errors.New("the templateValues are not a map")
	}
	data := map[string]any{"ClusterNamespace": c.Namespace, "ClusterName": c.Name, "ClusterLabels": labels,
		"ClusterAnnotations": exported(c.Annotations), "ClusterValues": templateValues}
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, errors.New("failed to marshal helm values section into a template")
	}
	out := map[string]any{}
	if err := execute(string(text), data, &out); err != nil {
		return nil, err
	}
	if out == nil {
		out = map[string]any{}
	}
	for _, k := range slices.Sorted(maps.Keys(helm.TemplateValues)) {
		var value any
		if err := execute(helm.TemplateValues[k], data, &value); err != nil {
			return nil, err
		}
		out[k] = value
	}
	return out, nil
}

// noEntry is the part of an error of a template that quotes no value.
var noEntry = regexp.MustCompile(`map has no entry for key "[^"]*"|function "[^"]*" not defined`)

// execute evaluates a template and reads its result as YAML. Errors do not quote values.
func execute(text string, data map[string]any, into any) error {
	funcs := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "include", "tpl", "getHostByName"} {
		delete(funcs, name)
	}
	fail := func(what string, err error) error {
		if m := noEntry.FindString(err.Error()); m != "" {
			return fmt.Errorf("%s: %s", what, m)
		}
		return errors.New(what)
	}
	t, err := template.New("values").Funcs(funcs).Option("missingkey=error").Delims("${", "}").Parse(text)
	if err != nil {
		return fail("failed to parse helm values template", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return fail("failed to render helm values template", err)
	}
	if err := yaml.Unmarshal(out.Bytes(), into); err != nil {
		return errors.New("failed to interpret rendered template as helm values")
	}
	return nil
}

// replaceLabels replaces values by labels of the cluster; a label that is not set is the empty text. It returns false
// if the values are too deep.
func replaceLabels(values, labels map[string]any, depth int) bool {
	if depth > maxLabelDepth {
		return false
	}
	ok := true
	for k, v := range values {
		switch v := v.(type) {
		case string:
			if label, is := strings.CutPrefix(v, labelPrefix); is {
				values[k] = cmp.Or(labels[label], any(""))
			}
		case map[string]any:
			ok = ok && replaceLabels(v, labels, depth+1)
		case []any:
			for _, e := range v {
				if m, is := e.(map[string]any); is {
					ok = ok && replaceLabels(m, labels, depth+1)
				}
			}
		}
	}
	return ok
}

// clusterPaths returns the paths of the values that depend on the labels of the cluster.
func clusterPaths(helm *v1alpha1.HelmOptions, values map[string]any) []string {
	var found []string
	isTemplate := func(s string) bool { return strings.Contains(s, "${") && !helm.DisablePreProcess }
	var walk func(path string, v any, inList bool)
	walk = func(path string, v any, inList bool) {
		switch v := v.(type) {
		case string:
			if strings.HasPrefix(v, labelPrefix) && !inList || isTemplate(v) {
				found = append(found, path)
			}
		case map[string]any:
			for k, e := range v {
				if isTemplate(k) {
					found = append(found, path+"."+k)
				}
				walk(path+"."+k, e, false)
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e, true)
			}
		}
	}
	walk("", values, false)
	if !helm.DisablePreProcess {
		for k := range helm.TemplateValues {
			found = append(found, "."+k)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
