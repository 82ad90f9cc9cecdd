// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fixed are fields of a kind, with all that is in them, which an API server does not change in an object that exists.
type fixed struct {
	paths, except []string
	// once is true if a field that is not set can be set, and an empty value keeps the one that it has.
	once bool
	// in reports whether it does not change them in this live object; nil if it never does.
	in func(live map[string]any) bool
}

// fixedFields are the fixed fields of built-in kinds. A test compares them with a real API server.
var fixedFields = map[schema.GroupKind][]fixed{
	{Kind: "ConfigMap"}: {{paths: []string{".data", ".binaryData", ".immutable"}, in: immutable}},
	{Kind: "Secret"}:    {{paths: []string{".data", ".immutable"}, in: immutable}, {paths: []string{".type"}}},
	{Kind: "Service"}:   {{paths: []string{".spec.clusterIP", ".spec.clusterIPs"}, once: true}},
	{Kind: "PersistentVolumeClaim"}: {{paths: []string{".spec"}, once: true,
		except: []string{".spec.resources.requests", ".spec.volumeAttributesClassName"}}},
	{Group: "apps", Kind: "DaemonSet"}:  selectors,
	{Group: "apps", Kind: "Deployment"}: selectors,
	{Group: "apps", Kind: "ReplicaSet"}: selectors,
	{Group: "apps", Kind: "StatefulSet"}: {{paths: []string{".spec"},
		except: []string{".spec.replicas", ".spec.ordinals", ".spec.template", ".spec.updateStrategy",
			".spec.revisionHistoryLimit", ".spec.persistentVolumeClaimRetentionPolicy", ".spec.minReadySeconds"}}},
	{Group: "batch", Kind: "Job"}: {
		{paths: []string{".spec.selector", ".spec.completionMode", ".spec.podFailurePolicy",
			".spec.backoffLimitPerIndex"}},
		{paths: []string{".spec.template"}, in: func(live map[string]any) bool {
			return !isTrue(live, "spec", "suspend")
		}},
		{paths: []string{".spec.completions"}, in: func(live map[string]any) bool {
			return at(live, "spec", "completionMode") != "Indexed"
		}}},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        roleRefs,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: roleRefs,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: {{paths: []string{".provisioner", ".parameters", ".reclaimPolicy",
		".volumeBindingMode"}}},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: {{paths: []string{".value", ".preemptionPolicy"}}},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:  {{paths: []string{".spec.controller"}}},
}

var (
	selectors = []fixed{{paths: []string{".spec.selector"}}}
	roleRefs  = []fixed{{paths: []string{".roleRef"}}}
)

// Fixed reports whether an API server refuses to change the field of a difference to the desired value, because the
// object exists. It is false for kinds and fields of which that is not known.
func Fixed(kind schema.GroupKind, d Difference, live map[string]any) bool {
	if !d.DesiredSet {
		return false
	}
	return slices.ContainsFunc(fixedFields[kind], func(f fixed) bool {
		switch {
		case f.once && (!d.LiveSet || d.Desired == ""), f.in != nil && !f.in(live):
			return false
		}
		path := d.Path.String()
		return within(path, f.paths) && !within(path, f.except)
	})
}

// within reports whether a path leads to one of the fields, or into it.
func within(path string, fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, ok := strings.CutPrefix(path, field)
		return ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
	})
}

func immutable(live map[string]any) bool { return isTrue(live, "immutable") }

func isTrue(content map[string]any, path ...string) bool { return at(content, path...) == true }

// at returns the value of a field; nil if it is not set.
func at(content map[string]any, path ...string) any {
	var v any = content
	for _, name := range path {
		v = valueAt(v, name)
	}
	return v
}
