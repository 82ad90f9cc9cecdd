// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// ValuesRef names a text with values on the cluster of the deployment.
type ValuesRef struct {
	// Kind is ConfigMap or Secret.
	Kind, Namespace, Name, Key string
}

func (r ValuesRef) String() string {
	return fmt.Sprintf("key %s of %s %s/%s", r.Key, r.Kind, r.Namespace, r.Name)
}

// MarshalText implements encoding.TextMarshaler. No character separates the parts safely: those of a bundle's options may be anything.
func (r ValuesRef) MarshalText() ([]byte, error) {
	return json.Marshal([]string{r.Kind, r.Namespace, r.Name, r.Key})
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *ValuesRef) UnmarshalText(text []byte) error {
	var parts [4]string
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	r.Kind, r.Namespace, r.Name, r.Key = parts[0], parts[1], parts[2], parts[3]
	return nil
}

// ValuesRefs returns the texts that the agent merges over the values, the first of them first. Source: docs/fleet-behavior.md, 2.5.
func ValuesRefs(o *v1alpha1.Options) []ValuesRef {
	if o.Helm == nil {
		return nil
	}
	var refs []ValuesRef
	add := func(kind string, k *v1alpha1.ValuesKey) {
		if k == nil {
			return
		}
		r := ValuesRef{Kind: kind, Namespace: k.Namespace, Name: k.Name, Key: k.Key}
		copied := slices.ContainsFunc(o.DownstreamResources, func(d v1alpha1.DownstreamResource) bool {
			return d.Name == k.Name && strings.EqualFold(d.Kind, kind)
		})
		if r.Namespace == "" || copied {
			r.Namespace = ReleaseNamespace(o)
		}
		if r.Key == "" {
			r.Key = "values.yaml"
		}
		refs = append(refs, r)
	}
	for _, v := range o.Helm.ValuesFrom {
		add("ConfigMap", v.ConfigMapKeyRef)
		add("Secret", v.SecretKeyRef)
	}
	return refs
}

// values merges the values of the release. It returns a copy, because Helm writes into it, with the types of JSON as in the agent: every number
// is a float64, which templates print in another format than an integer.
func (b *bundle) values() (map[string]any, error) {
	raw := b.in.Values
	if helm := b.in.Options.Helm; raw == nil && helm != nil {
		raw = helm.Values
	}
	if len(raw) == 0 { // as the Secret says it of none
		raw = []byte("{}")
	}
	values := map[string]any{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, b.in.fail("", "its values are no map")
	}
	if values == nil { // of a plain null
		values = map[string]any{}
	}
	for _, r := range ValuesRefs(&b.in.Options) {
		text, ok := b.in.ValuesFrom[r]
		if !ok {
			b.addGap("values were not read: " + r.String())
			continue
		}
		more, err := ReadValues(text)
		if err != nil {
			return nil, b.in.fail("", r.String()+" "+err.Error())
		}
		values = MergeValues(values, more)
	}
	return values, nil
}

// ReadValues reads values as the agent does: the first YAML document. Errors continue a sentence that begins with the name of the text, and never
// quote it.
func ReadValues(text []byte) (map[string]any, error) {
	var m map[string]any
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("is empty")
	}
	if err := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return nil, fmt.Errorf("holds no map of values%s", lineOf(err))
	}
	return m, nil
}

// MergeValues merges maps deeply; other values in over replace those in base. Neither argument is changed.
func MergeValues(base, over map[string]any) map[string]any { return loader.MergeMaps(base, over) }

// ClusterValues returns the paths of the values that Fleet's management cluster fills in for each cluster from its labels
// (docs/fleet-behavior.md, 2.5). Only values that were not processed there, such as those of a fleet.yaml, have any.
func ClusterValues(helm *v1alpha1.HelmOptions, values map[string]any) []string {
	var found []string
	const labels = "global.fleet.clusterLabels."
	var walk func(path string, v any, inList bool)
	walk = func(path string, v any, inList bool) {
		switch v := v.(type) {
		case string:
			if strings.HasPrefix(v, labels) && !inList || strings.Contains(v, "${") && !helm.DisablePreProcess {
				found = append(found, path)
			}
		case map[string]any:
			for _, k := range sortedKeys(v) {
				if strings.Contains(k, "${") && !helm.DisablePreProcess {
					found = append(found, path+"."+k)
				}
				walk(path+"."+k, v[k], false)
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e, true)
			}
		}
	}
	walk("", values, false)
	if !helm.DisablePreProcess {
		for _, k := range sortedKeys(helm.TemplateValues) {
			found = append(found, "."+k)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
