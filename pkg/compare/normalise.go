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
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectset is the prefix of the marks by which Fleet owns an object. Whether they are right is a question of ownership, not of drift.
const objectset = "objectset.rio.cattle.io/"

// withoutMarks leaves Fleet's marks out of labels or annotations.
func withoutMarks(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(k string, _ any) bool { return strings.HasPrefix(k, objectset) })
	return out
}

// normalisers turn the ways of saying one thing into one way, for the kinds that have several (Fleet's facts, drift 3.2.2).
// Each returns changed shallow copies of the desired and the live object, or its arguments.
var normalisers = map[schema.GroupKind]func(desired, live map[string]any) (d, l map[string]any){
	{Kind: "Secret"}:                               each(foldStringData),
	{Kind: "Endpoints"}:                            each(sortSubsets),
	{Kind: "Namespace"}:                            each(withoutNameLabel),
	{Group: rbacv1.GroupName, Kind: "Role"}:        comparableRules,
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}: comparableRules,
	{Group: admissionv1.GroupName, Kind: "MutatingWebhookConfiguration"}:   each(withoutBlankCABundle),
	{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"}: each(withoutBlankCABundle),
}

func normalise(gvk schema.GroupVersionKind, desired, live map[string]any) (d, l map[string]any) {
	if f, ok := normalisers[gvk.GroupKind()]; ok {
		return f(desired, live)
	}
	return desired, live
}

// each applies the same change to both objects.
func each(f func(map[string]any) map[string]any) func(desired, live map[string]any) (d, l map[string]any) {
	return func(desired, live map[string]any) (d, l map[string]any) { return f(desired), f(live) }
}

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

// comparableRules drops rules that a controller gathers from other roles, if the manifest says that it does. Else null rules are a
// statement, unlike other nulls: this role is to allow nothing.
func comparableRules(desired, live map[string]any) (d, l map[string]any) {
	rules, stated := desired["rules"]
	_, aggregates := desired["aggregationRule"].(map[string]any)
	switch {
	case aggregates:
		desired = maps.Clone(desired)
		delete(desired, "rules")
	case stated && rules == nil:
		desired = maps.Clone(desired)
		desired["rules"] = []any{}
	}
	return desired, live
}

// withoutNameLabel drops the label of a Namespace that the API server writes, whatever is stated.
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

// sortSubsets orders what has no order in Endpoints: the API server sorts it, and controllers write it as it comes.
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

// blankCABundle is one newline: what charts state where an injector is to write the bundle.
const blankCABundle = "Cg=="

// withoutBlankCABundle drops a caBundle that only holds a place.
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

// sameValue says whether a live value is the given default.
func sameValue(f field, value, live any) bool {
	return value != nil && same(f, value, live, true)
}

// unknownToType says whether the API's struct, as this build knows it, has no such field.
func unknownToType(f field) bool { return f.typ == nil && f.owner != nil }

func isStruct(f field) bool { return f.typ != nil && f.typ.Kind() == reflect.Struct }
