// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// Version is a version of Fleet, 0.Minor.Patch. Pre is true if it is a pre-release.
type Version struct {
	Minor, Patch int
	Pre          bool
}

// The minor versions between which the rules are known. Source: docs/supported-versions.md.
const (
	OldestKnown = 10
	NewestKnown = 16
)

// version finds the version in the tag of an image: "v0.14.3", "v0.16.0-rc.1", or "v105.0.0-up0.12.0" for images of
// Rancher.
var version = regexp.MustCompile(`(?:^v?|up)0\.(\d+)\.(\d+)(-)?`)

// ParseVersion reads the version in the tag of an image; ok is false if the tag has none, such as "dev".
// Source: docs/fleet-behavior.md, 8.3.
func ParseVersion(tag string) (v Version, ok bool) {
	m := version.FindStringSubmatch(tag)
	if m == nil {
		return Version{}, false
	}
	minor, minorErr := strconv.Atoi(m[1])
	patch, patchErr := strconv.Atoi(m[2])
	return Version{Minor: minor, Patch: patch, Pre: m[3] != ""}, minorErr == nil && patchErr == nil
}

// ParseBuild is ParseVersion, and also reads the tag "dev", which Fleet's build gives to images of its main branch:
// their version is newer than every known one. A prediction for them is better than none, but no finding is based on
// it.
func ParseBuild(tag string) (v Version, ok bool) {
	if tag == "dev" {
		return Version{Minor: NewestKnown + 1}, true
	}
	return ParseVersion(tag)
}

// Before reports whether the version is older than the release 0.minor.patch.
func (v Version) Before(minor, patch int) bool {
	switch {
	case v.Minor != minor:
		return v.Minor < minor
	case v.Patch != patch:
		return v.Patch < patch
	}
	return v.Pre
}

// CollectsByBundleName reports whether an agent of this version compares the name of a release with the name of its
// BundleDeployment, and not with the release name that it computed. If the two differ, the agent uninstalls the release
// that it has just installed. Source: docs/fleet-behavior.md, 1.6.
func (v Version) CollectsByBundleName() bool {
	return v.Before(15, 6) || v.Minor == 16 && v.Before(16, 1)
}

// Bug is a known bug of Fleet that makes a number in a status wrong.
type Bug struct {
	// Issue is where it is described, such as "rancher/fleet#3203".
	Issue string
	// What says in one sentence what these versions do.
	What string
	in   func(v Version) bool
}

// In reports whether the version that a tag names has the bug. It is false for a version that is not known.
func (b *Bug) In(tag string) bool {
	v, known := ParseVersion(tag)
	return known && b.in(v)
}

// Known bugs in the numbers of a status (docs/fleet-behavior.md, 4.6).
var (
	// BugClusterCounts affects the counts of a Cluster. The version is that of the controller.
	BugClusterCounts = Bug{Issue: "rancher/fleet#3102",
		What: "a Cluster counts the objects that its GitRepos have on all clusters",
		in:   func(v Version) bool { return v.Before(10, 8) || v.Minor == 11 && v.Before(11, 3) }}
	// BugTruncatedCounts affects the counts of a GitRepo or Cluster. The version is that of the controller.
	BugTruncatedCounts = Bug{Issue: "rancher/fleet#3203",
		What: "counts come from lists that end at ten objects, and objects of one bundle deployment in error count " +
			"for all",
		in: func(v Version) bool { return v.Before(12, 0) }}
	// BugReadyClusters affects the ready clusters of a GitRepo. The version is that of the controller.
	BugReadyClusters = Bug{Issue: "rancher/fleet#3008",
		What: "the ready clusters of a GitRepo are those of one of its bundles",
		in:   func(v Version) bool { return v.Before(11, 0) }}
	// BugReplicas affects workloads that an autoscaler scales. The version is that of the agent, as for the following
	// ones.
	BugReplicas = Bug{Issue: "rancher/fleet#4029",
		What: "a number of replicas that an autoscaler set is reported as modified",
		in:   func(v Version) bool { return v.Before(15, 0) }}
	// BugCABundle affects webhook configurations.
	BugCABundle = Bug{Issue: "rancher/fleet#5368", What: "an injected caBundle is reported as modified",
		in: func(v Version) bool { return v.Before(15, 6) || v.Minor == 16 && v.Before(16, 1) }}
	// BugDefaults affects all kinds.
	BugDefaults = Bug{Issue: "rancher/fleet#5020",
		What: "defaults that the API server sets are reported as modified, and fields set to null are not",
		in:   func(v Version) bool { return v.Minor == 15 && !v.Before(15, 0) && v.Before(15, 3) }}
)
