// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// ValuesRef names a key of a ConfigMap or Secret with values, on the cluster of the deployment.
type ValuesRef struct {
	// Kind is ConfigMap or Secret.
	Kind, Namespace, Name, Key string
}

func (r ValuesRef) String() string {
	return fmt.Sprintf("key %s of %s %s/%s", r.Key, r.Kind, r.Namespace, r.Name)
}

// ValuesRefs returns the keys that the agent merges over the values, in this order. Source: docs/fleet-behavior.md,
// 2.5.
func ValuesRefs(o *v1alpha1.Options) []ValuesRef {
	if o.Helm == nil {
		return nil
	}
	var refs []ValuesRef
	add := func(kind string, k *v1alpha1.ValuesKey) {
		if k == nil {
			return
		}
		r := ValuesRef{Kind: kind, Namespace: k.Namespace, Name: k.Name, Key: cmp.Or(k.Key, "values.yaml")}
		copied := slices.ContainsFunc(o.DownstreamResources, func(d v1alpha1.DownstreamResource) bool {
			return d.Name == k.Name && strings.EqualFold(d.Kind, kind)
		})
		if r.Namespace == "" || copied {
			r.Namespace = releaseNamespace(o)
		}
		refs = append(refs, r)
	}
	for _, v := range o.Helm.ValuesFrom {
		add("ConfigMap", v.ConfigMapKeyRef)
		add("Secret", v.SecretKeyRef)
	}
	return refs
}

// HasValues reports whether the bundle states values, or may state some: those of valuesFrom, and those in a Secret
// that was not read.
func (in *Input) HasValues() bool {
	raw := in.Values
	if raw == nil && in.Options.Helm != nil {
		raw = in.Options.Helm.Values
	}
	unread := in.Values == nil && in.ValuesHash != ""
	if unread || len(ValuesRefs(&in.Options)) > 0 {
		return true
	}
	var values map[string]any
	return json.Unmarshal(raw, &values) == nil && len(values) > 0
}

// values returns the merged values of the release. The result is a copy, because Helm changes it. It has the types of
// JSON, as in the agent: every number is a float64, which templates print in another format than an integer.
func (b *bundle) values() (map[string]any, error) {
	raw := b.in.Values
	if raw == nil {
		raw = b.in.Options.Helm.Values
	}
	values := map[string]any{}
	// the Secret of a bundle without values has an empty text
	if err := json.Unmarshal(raw, &values); err != nil && len(raw) > 0 {
		return nil, b.in.fail("", "its values are not a map")
	}
	if values == nil { // JSON null
		values = map[string]any{}
	}
	for i, r := range ValuesRefs(&b.in.Options) {
		if i >= len(b.in.ValuesFrom) || b.in.ValuesFrom[i] == nil {
			b.addGap("values were not read: " + r.String())
			continue
		}
		more, err := readValues(b.in.ValuesFrom[i])
		if err != nil {
			return nil, b.in.fail("", r.String()+" "+err.Error())
		}
		values = loader.MergeMaps(values, more)
	}
	if previous := b.in.PreviousValues; len(values) == 0 && len(previous) > 0 {
		if json.Unmarshal(previous, &values) != nil {
			return nil, b.in.fail("", "the values of its release are not a map")
		}
		b.result.Notes = append(b.result.Notes,
			"it has no Helm values: an upgrade keeps those of the deployed revision")
	}
	return values, nil
}

// readValues reads the first YAML document of a text, as the agent does. Errors are predicates without a subject, and
// never quote the text.
func readValues(text []byte) (map[string]any, error) {
	var m map[string]any
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("is empty")
	}
	if err := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return nil, fmt.Errorf("is not a YAML map%s", LineOf(err, text))
	}
	return m, nil
}
