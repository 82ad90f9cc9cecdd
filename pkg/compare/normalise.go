// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// objectset is the prefix of Fleet's ownership metadata. A difference in it is a problem of ownership, not drift.
const objectset = "objectset.rio.cattle.io/"

// withoutOwnershipMetadata removes Fleet's ownership metadata from labels or annotations.
func withoutOwnershipMetadata(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	owned := func(k string) bool { return strings.HasPrefix(k, objectset) }
	for k := range m {
		if owned(k) { // few manifests have it
			out := maps.Clone(m)
			maps.DeleteFunc(out, func(k string, _ any) bool { return owned(k) })
			return out
		}
	}
	return m
}

// normalisers convert equivalent forms of an object of their kind to one form (docs/fleet-behavior.md, 3.2). Each
// changes a shallow copy.
var normalisers = map[schema.GroupKind]func(object map[string]any){
	{Kind: "Secret"}:                               foldStringData,
	{Kind: "Endpoints"}:                            sortSubsets,
	{Kind: "Namespace"}:                            removeNameLabel,
	{Group: rbacv1.GroupName, Kind: "Role"}:        replaceNullRules,
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}: replaceNullRules,
	{Group: admissionv1.GroupName, Kind: "MutatingWebhookConfiguration"}:   removeBlankCABundles,
	{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"}: removeBlankCABundles,
	{Group: "argoproj.io", Kind: "Rollout"}:                                convertPodSpec,
}

// normalised returns the form of an object in which it is compared. The argument is not changed.
func normalised(gk schema.GroupKind, object map[string]any) map[string]any {
	normalise := normalisers[gk]
	if normalise == nil {
		return object
	}
	object = maps.Clone(object)
	normalise(object)
	return object
}

// foldStringData writes stringData into data, as the API server does; stringData has precedence.
func foldStringData(secret map[string]any) {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data := map[string]any{}
	stored, _ := secret["data"].(map[string]any)
	maps.Copy(data, stored)
	for k, v := range plain {
		if v != nil {
			data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
		}
	}
	delete(secret, "stringData")
	secret["data"] = data
}

// aggregated reports whether a controller collects the rules of a role from other roles.
func aggregated(gk schema.GroupKind, role map[string]any) bool {
	_, aggregates := role["aggregationRule"].(map[string]any)
	return aggregates && gk.Group == rbacv1.GroupName
}

// replaceNullRules replaces null rules with an empty list. Unlike other nulls, they are significant: the role allows
// nothing.
func replaceNullRules(role map[string]any) {
	if rules, stated := role["rules"]; stated && rules == nil {
		role["rules"] = []any{}
	}
}

// removeNameLabel removes the label of a Namespace that the API server always sets.
func removeNameLabel(ns map[string]any) {
	meta, ok := runtime.DeepCopyJSONValue(ns["metadata"]).(map[string]any)
	if !ok {
		return
	}
	labels, _ := meta["labels"].(map[string]any)
	delete(labels, corev1.LabelMetadataName)
	ns["metadata"] = meta
}

// sortSubsets sorts the lists of Endpoints in which the order is not significant: the API server sorts them,
// controllers do not.
func sortSubsets(endpoints map[string]any) {
	subsets, ok := runtime.DeepCopyJSONValue(endpoints["subsets"]).([]any)
	if !ok {
		return
	}
	for _, s := range subsets {
		subset, _ := s.(map[string]any)
		for _, name := range []string{"addresses", "notReadyAddresses", "ports"} {
			list, _ := subset[name].([]any)
			slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(sortKey(a), sortKey(b)) })
		}
	}
	endpoints["subsets"] = subsets
}

// sortKey is the order of addresses and ports in Endpoints.
func sortKey(v any) string {
	m, _ := v.(map[string]any)
	return fmt.Sprintf("%v\x00%v\x00%v\x00%v", m["ip"], m["name"], m["port"], m["protocol"])
}

// blankCABundle is one newline: the placeholder of charts for a bundle that an injector writes.
const blankCABundle = "Cg=="

// removeBlankCABundles removes each caBundle that is only a placeholder.
func removeBlankCABundles(config map[string]any) {
	hooks, ok := runtime.DeepCopyJSONValue(config["webhooks"]).([]any)
	if !ok {
		return
	}
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		if client, _ := hook["clientConfig"].(map[string]any); client["caBundle"] == blankCABundle {
			delete(client, "caBundle")
		}
	}
	config["webhooks"] = hooks
}

// convertPodSpec converts the pod template of an Argo Rollout with the built-in type, as Fleet does. It is the only
// custom resource with known contents.
func convertPodSpec(rollout map[string]any) {
	pod, found, err := unstructured.NestedMap(rollout, "spec", "template", "spec")
	if err != nil || !found {
		return
	}
	var typed corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod, &typed); err != nil {
		return // Fleet does not convert it either
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return
	}
	rollout["spec"] = runtime.DeepCopyJSONValue(rollout["spec"])
	_ = unstructured.SetNestedMap(rollout, written, "spec", "template", "spec") // the path exists
}

// mergedInto returns the live object after the changes between it and the desired one are merged into it, as Helm and
// Fleet's agent do. typ is the type of a built-in kind, nil for any other kind.
func mergedInto(typ reflect.Type, desired, live object.Content) (object.Content, error) {
	d, dErr := json.Marshal(withoutNull(desired))
	l, lErr := json.Marshal(live)
	if err := errors.Join(dErr, lErr); err != nil {
		return nil, err
	}
	raw, err := merge(typ, d, l)
	if err != nil {
		return nil, err
	}
	out, _, err := object.Decode(raw)
	return out, err
}

func merge(typ reflect.Type, desired, live []byte) ([]byte, error) {
	if typ == nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(desired, desired, live)
		if err != nil {
			return nil, err
		}
		return jsonpatch.MergePatch(live, patch)
	}
	like := reflect.New(typ).Interface()
	meta, err := strategicpatch.NewPatchMetaFromStruct(like)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(desired, desired, live, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(live, patch, like)
}

// volatile are the fields of metadata that a server sets at each write.
var volatile = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// MergePatch returns the JSON merge patch that changes one state of an object into another one. It ignores what a
// server sets, and the status.
func MergePatch(from, to object.Content) ([]byte, error) {
	a, aErr := json.Marshal(Stored(from))
	b, bErr := json.Marshal(Stored(to))
	if err := errors.Join(aErr, bErr); err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(a, b)
}

// HasMerged reports whether a JSON merge patch changes nothing in an object.
func HasMerged(content object.Content, patch []byte) bool {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return false
	}
	after, err := jsonpatch.MergePatch(before, patch)
	return err == nil && jsonpatch.Equal(before, after)
}

// Stored returns an object without its status and what a server sets.
func Stored(content object.Content) object.Content {
	out := make(object.Content, len(content))
	for name, v := range content {
		if name != "status" {
			out[name] = v
		}
	}
	if m, ok := out["metadata"].(map[string]any); ok {
		kept := make(map[string]any, len(m))
		for name, v := range m {
			if !slices.Contains(volatile, name) {
				kept[name] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// withoutNull returns a value without the fields that are null: in a merge they would remove what is there.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				out[name] = withoutNull(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNull(v[i])
		}
		return out
	}
	return v
}

// Inverse returns the JSON merge patch that undoes another one on an object.
func Inverse(content object.Content, patch []byte) ([]byte, error) {
	before, err := json.Marshal(Stored(content))
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(after, before)
}
