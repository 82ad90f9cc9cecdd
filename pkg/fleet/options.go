// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// MergeOptions returns the options of a bundle with those of a target over them. keyed is true from 0.16 on: then an
// entry of a list replaces the one with the same key, before it was appended. The arguments are not changed. Values
// that are not a map are kept. Source: docs/fleet-behavior.md, 2.4.
func MergeOptions(base, over v1alpha1.Options, keyed bool) v1alpha1.Options {
	out := base
	out.DefaultNamespace = cmp.Or(over.DefaultNamespace, base.DefaultNamespace)
	out.TargetNamespace = cmp.Or(over.TargetNamespace, base.TargetNamespace)
	out.ServiceAccount = cmp.Or(over.ServiceAccount, base.ServiceAccount)
	out.Helm = mergeHelm(base.Helm, over.Helm, keyed)
	if over.Kustomize != nil && over.Kustomize.Dir != "" {
		out.Kustomize = over.Kustomize
	}
	if over.YAML != nil {
		out.YAML = &v1alpha1.YAMLOptions{Overlays: slices.Concat(cmp.Or(base.YAML, &v1alpha1.YAMLOptions{}).Overlays,
			over.YAML.Overlays)}
	}
	if over.Diff != nil {
		key := func(p v1alpha1.ComparePatch) string {
			return strings.Join([]string{p.APIVersion, p.Kind, p.Namespace, p.Name}, "|")
		}
		patches := mergeList(cmp.Or(base.Diff, &v1alpha1.DiffOptions{}).ComparePatches, over.Diff.ComparePatches, keyed,
			key)
		out.Diff = &v1alpha1.DiffOptions{ComparePatches: patches}
	}
	out.KeepResources = base.KeepResources || over.KeepResources
	out.CorrectDrift = cmp.Or(over.CorrectDrift, base.CorrectDrift)
	if over.ForceSyncGeneration > 0 {
		out.ForceSyncGeneration = over.ForceSyncGeneration
	}
	out.DownstreamResources = mergeList(base.DownstreamResources, over.DownstreamResources, keyed,
		func(r v1alpha1.DownstreamResource) string {
			return strings.ToLower(r.Kind) + "|" + r.Name
		})
	return out
}

func mergeHelm(base, over *v1alpha1.HelmOptions, keyed bool) *v1alpha1.HelmOptions {
	if over == nil {
		return base
	}
	out := *cmp.Or(base, &v1alpha1.HelmOptions{})
	out.Values = mergeValues(out.Values, over.Values)
	if len(over.TemplateValues) > 0 {
		merged := map[string]string{}
		maps.Copy(merged, out.TemplateValues)
		maps.Copy(merged, over.TemplateValues)
		out.TemplateValues = merged
	}
	out.ValuesFrom = mergeList(out.ValuesFrom, over.ValuesFrom, keyed, valuesFromKey)
	out.Repo, out.Chart, out.Version = cmp.Or(over.Repo, out.Repo), cmp.Or(over.Chart, out.Chart),
		cmp.Or(over.Version, out.Version)
	out.ReleaseName = cmp.Or(over.ReleaseName, out.ReleaseName)
	out.Force = out.Force || over.Force
	out.TakeOwnership = out.TakeOwnership || over.TakeOwnership
	out.DisablePreProcess = out.DisablePreProcess || over.DisablePreProcess
	return &out
}

func valuesFromKey(v v1alpha1.ValuesFrom) string {
	if k := v.ConfigMapKeyRef; k != nil {
		return strings.Join([]string{"configmap", k.Namespace, k.Name, k.Key}, "|")
	}
	if k := v.SecretKeyRef; k != nil {
		return strings.Join([]string{"secret", k.Namespace, k.Name, k.Key}, "|")
	}
	return ""
}

// mergeList appends entries to a list. If keyed, an entry replaces the first one with the same key; the empty key has
// no equal.
func mergeList[T any](base, over []T, keyed bool, key func(T) string) []T {
	if len(over) == 0 {
		return base
	}
	out := slices.Clone(base)
	for _, e := range over {
		i := -1
		if k := key(e); keyed && k != "" {
			i = slices.IndexFunc(out, func(o T) bool { return key(o) == k })
		}
		if i >= 0 {
			out[i] = e
		} else {
			out = append(out, e)
		}
	}
	return out
}

// mergeValues merges maps in depth, as JSON.
func mergeValues(base, over json.RawMessage) json.RawMessage {
	var x, y map[string]any
	if len(over) == 0 || json.Unmarshal(over, &y) != nil {
		return base
	}
	if len(base) == 0 || json.Unmarshal(base, &x) != nil || x == nil {
		return over
	}
	out, err := json.Marshal(mergeMaps(x, y))
	if err != nil {
		return base
	}
	return out
}

func mergeMaps(base, over map[string]any) map[string]any {
	for k, v := range over {
		x, isMap := base[k].(map[string]any)
		y, bothMaps := v.(map[string]any)
		if isMap && bothMaps {
			base[k] = mergeMaps(x, y)
		} else {
			base[k] = v
		}
	}
	return base
}
