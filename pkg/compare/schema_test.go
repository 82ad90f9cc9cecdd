// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// listNotes describes every list of the API that server-side apply and this package compare in different ways.
type listNotes map[string]string

// TestPathKeys compares the keys of elements in paths with the schema of server-side apply, for every list of every
// built-in kind. They may differ only for:
//
//   - lists that have keys in server-side apply and that Fleet compares as a whole. Their elements have an index in a
//     path, and Managers finds the name that the API server has for them;
//   - lists in status, which is not compared.
func TestPathKeys(t *testing.T) {
	got, kinds := listNotes{}, 0
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		object, ok := reflect.New(typ).Interface().(runtime.Object)
		if !ok {
			continue
		}
		object.GetObjectKind().SetGroupVersionKind(gvk)
		typed, err := converter.ObjectToTyped(object)
		if err != nil {
			continue // not a kind of objects: lists, options, reviews
		}
		kinds++
		got.walk(typed.Schema(), typed.TypeRef(), field{typ: typ}, map[reflect.Type]bool{})
	}
	if kinds < 100 {
		t.Errorf("only %d kinds have a schema", kinds)
	}
	want := listNotes{
		"CSIDriverSpec.volumeLifecycleModes":                     "whole, set",
		"CompositePodGroupTemplate.compositePodGroupTemplates":   "whole, [name]",
		"CompositePodGroupTemplate.podGroupTemplates":            "whole, [name]",
		"ContainerRestartRuleOnExitCodes.values":                 "whole, set",
		"Endpoint.addresses":                                     "whole, set",
		"NodePodPreemptionPolicy.disableResizePreemption":        "whole, set",
		"NonResourcePolicyRule.nonResourceURLs":                  "whole, set",
		"NonResourcePolicyRule.verbs":                            "whole, set",
		"PodFailurePolicyOnExitCodesRequirement.values":          "whole, set",
		"ResourcePolicyRule.apiGroups":                           "whole, set",
		"ResourcePolicyRule.namespaces":                          "whole, set",
		"ResourcePolicyRule.resources":                           "whole, set",
		"ResourcePolicyRule.verbs":                               "whole, set",
		"ResourceRequirements.claims":                            "whole, [name]",
		"ResourceSliceSpec.skipNodeOperations":                   "whole, set",
		"ValidatingAdmissionPolicyBindingSpec.validationActions": "whole, set",
		"VolumeMount.bindMountOptions":                           "whole, set",
		"WorkloadSpec.compositePodGroupTemplates":                "whole, [name]",
		"WorkloadSpec.podGroupTemplates":                         "whole, [name]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lists with different keys (-want +got):\n%s", diff)
	}
}

func (n listNotes) walk(s *smd.Schema, ref smd.TypeRef, f field, seen map[reflect.Type]bool) {
	atom, ok := s.Resolve(ref)
	t := deref(f.typ)
	if !ok || t == nil || f.Name == "status" {
		return
	}
	switch {
	case atom.Map != nil && t.Kind() == reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for _, sf := range atom.Fields {
			n.walk(s, sf.Type, member(f, sf.Name), seen)
		}
	case atom.Map != nil && t.Kind() == reflect.Map:
		n.walk(s, atom.Map.ElementType, field{typ: t.Elem()}, seen)
	case atom.List != nil && t.Kind() == reflect.Slice:
		here, serverSide := namedBy(f), appliedBy(atom.List)
		if here != serverSide {
			n[f.Struct.Name()+"."+f.Name] = here + ", " + serverSide
		}
		n.walk(s, atom.List.ElementType, element(f), seen)
	}
}

func namedBy(list field) string {
	switch list.list {
	case listMerge:
		names := slices.Clone(pathKeys[deref(element(list).typ)])
		if names == nil {
			names = []string{list.mergeKey}
		}
		slices.Sort(names)
		return fmt.Sprint(names)
	case listSet:
		return "set"
	}
	return "whole"
}

func appliedBy(list *smd.List) string {
	switch {
	case list.ElementRelationship != smd.Associative:
		return "whole"
	case len(list.Keys) == 0:
		return "set"
	}
	keys := slices.Clone(list.Keys)
	slices.Sort(keys)
	return fmt.Sprint(keys)
}

// TestMergeKeySortsFirst checks that the merge key is the first of several keys, as Managers requires.
func TestMergeKeySortsFirst(t *testing.T) {
	for typ, names := range pathKeys {
		if !slices.IsSorted(names) {
			t.Errorf("%s: %v are not sorted", typ, names)
		}
		for _, owner := range scheme.Scheme.AllKnownTypes() {
			for _, f := range structFields(owner) {
				if f.list == listMerge && deref(element(f).typ) == typ && f.mergeKey != names[0] {
					t.Errorf("%s.%s: the merge key %q is not the first of %v", f.Struct, f.Name, f.mergeKey, names)
				}
			}
		}
	}
}

// TestDefaultsOfLists checks that the table has every default that the schema of server-side apply has in a list that
// is compared as a whole: live elements have it, although the manifest does not state it.
func TestDefaultsOfLists(t *testing.T) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		object, ok := reflect.New(typ).Interface().(runtime.Object)
		if !ok {
			continue
		}
		object.GetObjectKind().SetGroupVersionKind(gvk)
		typed, err := converter.ObjectToTyped(object)
		if err != nil {
			continue
		}
		unknownDefaults(typed.Schema(), typed.TypeRef(), field{typ: typ}, false, map[string]bool{},
			func(f field, value any) {
				t.Errorf("%s: %s.%s has the default %v", gvk, f.Struct, f.Name, value)
			})
	}
}

func unknownDefaults(s *smd.Schema, ref smd.TypeRef, f field, exact bool, seen map[string]bool,
	report func(field, any)) {
	atom, ok := s.Resolve(ref)
	t := deref(f.typ)
	if !ok || t == nil || f.Name == "status" || strings.HasSuffix(t.Name(), "Status") {
		return
	}
	exact = exact || f.whole
	switch {
	case atom.Map != nil && t.Kind() == reflect.Struct:
		key := fmt.Sprint(t, exact)
		if seen[key] {
			return
		}
		seen[key] = true
		for _, sf := range atom.Fields {
			m := member(f, sf.Name)
			zero := m.zeroIsUnset && slices.Contains([]string{"", "0", "false", "map[]"}, fmt.Sprint(sf.Default))
			if exact && sf.Default != nil && !zero && defaultOf(m, map[string]any{}) == nil {
				report(m, sf.Default)
			}
			unknownDefaults(s, sf.Type, m, exact, seen, report)
		}
	case atom.Map != nil && t.Kind() == reflect.Map:
		unknownDefaults(s, atom.Map.ElementType, field{typ: t.Elem()}, exact, seen, report)
	case atom.List != nil && t.Kind() == reflect.Slice:
		unknownDefaults(s, atom.List.ElementType, element(f), exact || f.list == listAtomic, seen, report)
	}
}
