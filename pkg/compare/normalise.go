// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectset is the prefix of Fleet's ownership metadata. A difference in it is a problem of ownership, not drift.
const objectset = "objectset.rio.cattle.io/"

// withoutOwnershipMetadata removes Fleet's ownership metadata from labels or annotations.
func withoutOwnershipMetadata(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(k string, _ any) bool { return strings.HasPrefix(k, objectset) })
	return out
}

// normaliser converts equivalent forms of an object to one form. Each function returns a changed shallow copy, or its argument.
type normaliser struct {
	desired, live func(map[string]any) map[string]any
}

func both(f func(map[string]any) map[string]any) normaliser { return normaliser{f, f} }

// normalisers are those of the kinds with equivalent forms (docs/fleet-behavior.md, 3.2).
var normalisers = map[schema.GroupKind]normaliser{
	{Kind: "Secret"}:                               both(foldStringData),
	{Kind: "Endpoints"}:                            both(sortSubsets),
	{Kind: "Namespace"}:                            both(withoutNameLabel),
	{Group: rbacv1.GroupName, Kind: "Role"}:        {comparableRules, rulesNotNull},
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}: {comparableRules, rulesNotNull},
	{Group: admissionv1.GroupName, Kind: "MutatingWebhookConfiguration"}:   both(withoutBlankCABundle),
	{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"}: both(withoutBlankCABundle),
	{Group: "argoproj.io", Kind: "Rollout"}:                                both(typedPodSpec),
}

func normaliserOf(gk schema.GroupKind) normaliser {
	if n, ok := normalisers[gk]; ok {
		return n
	}
	return both(unchanged)
}

func unchanged(object map[string]any) map[string]any { return object }

// foldStringData writes stringData into data, as the API server does; stringData wins.
func foldStringData(secret map[string]any) map[string]any {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return secret
	}
	data, _ := secret["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		if v != nil {
			data[k] = base64.StdEncoding.EncodeToString([]byte(text(v)))
		}
	}
	out := maps.Clone(secret)
	delete(out, "stringData")
	out["data"] = data
	return out
}

// comparableRules removes the rules if the manifest has an aggregationRule: a controller then collects them from other roles.
func comparableRules(desired map[string]any) map[string]any {
	if _, aggregates := desired["aggregationRule"].(map[string]any); !aggregates {
		return rulesNotNull(desired)
	}
	out := maps.Clone(desired)
	delete(out, "rules")
	return out
}

// rulesNotNull replaces null rules with an empty list. Unlike other nulls, they are significant: the role allows nothing.
func rulesNotNull(role map[string]any) map[string]any {
	if rules, stated := role["rules"]; !stated || rules != nil {
		return role
	}
	out := maps.Clone(role)
	out["rules"] = []any{}
	return out
}

// withoutNameLabel removes the label of a Namespace that the API server always sets.
func withoutNameLabel(ns map[string]any) map[string]any {
	meta, _ := ns["metadata"].(map[string]any)
	labels, ok := meta["labels"].(map[string]any)
	if !ok {
		return ns
	}
	ns, meta, labels = maps.Clone(ns), maps.Clone(meta), maps.Clone(labels)
	delete(labels, corev1.LabelMetadataName)
	meta["labels"], ns["metadata"] = labels, meta
	return ns
}

// sortSubsets sorts the lists of Endpoints in which the order is not significant: the API server sorts them, controllers do not.
func sortSubsets(endpoints map[string]any) map[string]any {
	subsets, ok := endpoints["subsets"].([]any)
	if !ok {
		return endpoints
	}
	sorted := make([]any, len(subsets))
	for i, s := range subsets {
		subset, _ := s.(map[string]any)
		subset = maps.Clone(subset)
		for _, name := range []string{"addresses", "notReadyAddresses", "ports"} {
			if l, ok := subset[name].([]any); ok {
				subset[name] = sortedBy(l, "ip", "name", "port", "protocol")
			}
		}
		sorted[i] = subset
	}
	endpoints = maps.Clone(endpoints)
	endpoints["subsets"] = sorted
	return endpoints
}

// sortedBy returns a list of objects ordered by some of their fields.
func sortedBy(list []any, names ...string) []any {
	key := func(v any) string {
		m, _ := v.(map[string]any)
		var k strings.Builder
		for _, n := range names {
			k.WriteString(text(m[n]) + "\x00")
		}
		return k.String()
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return list
}

// blankCABundle is one newline: the placeholder of charts for a bundle that an injector writes.
const blankCABundle = "Cg=="

// withoutBlankCABundle removes a caBundle that is only a placeholder.
func withoutBlankCABundle(config map[string]any) map[string]any {
	hooks, ok := config["webhooks"].([]any)
	if !ok {
		return config
	}
	out := maps.Clone(config)
	cleaned := make([]any, len(hooks))
	for i, h := range hooks {
		cleaned[i] = h
		hook, _ := h.(map[string]any)
		client, _ := hook["clientConfig"].(map[string]any)
		if client["caBundle"] == blankCABundle {
			hook, client = maps.Clone(hook), maps.Clone(client)
			delete(client, "caBundle")
			hook["clientConfig"] = client
			cleaned[i] = hook
		}
	}
	out["webhooks"] = cleaned
	return out
}

// typedPodSpec converts the pod template of an Argo Rollout with the built-in type, as Fleet does. It is the only custom resource with known
// contents.
func typedPodSpec(rollout map[string]any) map[string]any {
	spec, _ := rollout["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, ok := template["spec"].(map[string]any)
	if !ok {
		return rollout
	}
	var typed corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &typed); err != nil {
		return rollout // Fleet does not convert it either
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return rollout
	}
	rollout, spec, template = maps.Clone(rollout), maps.Clone(spec), maps.Clone(template)
	template["spec"], spec["template"], rollout["spec"] = written, template, spec
	return rollout
}

// sameValue reports whether a live value is the given default.
func sameValue(f field, value, live any) bool {
	return value != nil && same(f, value, live, true)
}

// unknownToType reports whether the API's struct in this build has no such field.
func unknownToType(f field) bool { return f.typ == nil && f.owner != nil }

func isStruct(f field) bool { return f.typ != nil && f.typ.Kind() == reflect.Struct }
