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

// normaliser turns the ways of saying one thing into one way. Each function returns a changed shallow copy, or its argument.
type normaliser struct {
	desired, live func(map[string]any) map[string]any
}

func both(f func(map[string]any) map[string]any) normaliser { return normaliser{f, f} }

// normalisers are those of the kinds that have several ways (docs/fleet-behavior.md, 3.2).
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

// comparableRules drops rules that a controller gathers from other roles, if the manifest says that it does.
func comparableRules(desired map[string]any) map[string]any {
	if _, aggregates := desired["aggregationRule"].(map[string]any); !aggregates {
		return rulesNotNull(desired)
	}
	out := maps.Clone(desired)
	delete(out, "rules")
	return out
}

// rulesNotNull writes null rules as none. They are a statement, unlike other nulls: this role is to allow nothing.
func rulesNotNull(role map[string]any) map[string]any {
	if rules, stated := role["rules"]; !stated || rules != nil {
		return role
	}
	out := maps.Clone(role)
	out["rules"] = []any{}
	return out
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

// typedPodSpec writes the pod template of an Argo Rollout as the built-in type would: the one place where Fleet knows what is in a
// custom resource.
func typedPodSpec(rollout map[string]any) map[string]any {
	spec, _ := rollout["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, ok := template["spec"].(map[string]any)
	if !ok {
		return rollout
	}
	var typed corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &typed); err != nil {
		return rollout // what the type cannot hold is compared as it stands, by Fleet too
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return rollout
	}
	rollout, spec, template = maps.Clone(rollout), maps.Clone(spec), maps.Clone(template)
	template["spec"], spec["template"], rollout["spec"] = written, template, spec
	return rollout
}

// sameValue says whether a live value is the given default.
func sameValue(f field, value, live any) bool {
	return value != nil && same(f, value, live, true)
}

// unknownToType says whether the API's struct, as this build knows it, has no such field.
func unknownToType(f field) bool { return f.typ == nil && f.owner != nil }

func isStruct(f field) bool { return f.typ != nil && f.typ.Kind() == reflect.Struct }
