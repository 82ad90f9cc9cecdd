// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Rule is one of the comparePatches of a bundle, which exclude fields or objects from the comparison
// (docs/fleet-behavior.md, 3.3).
type Rule = v1alpha1.ComparePatch

// Operation is a JSON patch operation, or "ignore".
type Operation = v1alpha1.CompareOperation

// opIgnore is an operation of Fleet: a missing object is not reported. All other operations are those of JSON patch.
const opIgnore = "ignore"

// Ignored reports whether the rules ignore a missing object. The namespace must be equal; an empty namespace matches
// cluster-scoped objects only. A name that is not equal is an unanchored regular expression; it matches nothing if it
// does not compile.
func Ignored(rules []Rule, ref object.Ref) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		if r.APIVersion != ref.APIVersion || r.Kind != ref.Kind || r.Namespace != ref.Namespace {
			return false
		}
		if !slices.ContainsFunc(r.Operations, func(o Operation) bool { return o.Op == opIgnore }) {
			return false
		}
		name, err := regexp.Compile(r.Name)
		return r.Name == ref.Name || err == nil && name.MatchString(ref.Name)
	})
}

// IgnoreMissing returns the rule with which a missing object is not reported.
func IgnoreMissing(ref object.Ref) Rule {
	return Rule{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name,
		Operations: []Operation{{Op: opIgnore}}}
}

// Applies reports whether a rule changes the compared content of an object. It is cheap, and false for most objects.
func Applies(rules []Rule, ref object.Ref) bool {
	return len(pointers(rules, ref))+len(operations(rules, ref)) > 0
}

// Apply returns the content of an object after the rules; the argument is not changed. The rules apply to the object in
// the form that Fleet compares: without status, and with a Secret's stringData in its data.
func Apply(rules []Rule, ref object.Ref, content map[string]any) (map[string]any, error) {
	doc, err := document(rules, ref, content)
	if err != nil {
		return nil, err
	}
	out, _, err := object.Decode(patched(doc, operations(rules, ref)))
	return out, err
}

// document returns the JSON of an object to which the operations apply: without its status and the fields of the
// pointers.
func document(rules []Rule, ref object.Ref, content map[string]any) ([]byte, error) {
	content = maps.Clone(normalised(ref.GroupVersionKind().GroupKind(), content))
	delete(content, "status")
	doc, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return removed(doc, pointers(rules, ref)), nil
}

// emptied is a map of the desired content from which the rules removed everything. Fleet reports an object that lacks
// it, although it is equal to an empty map of a manifest, which Fleet drops before it applies the rules.
type emptied struct{}

// ApplyDesired is Apply for the desired content, in which it marks the maps that the rules emptied.
func ApplyDesired(rules []Rule, ref object.Ref, content map[string]any) (map[string]any, error) {
	out, err := Apply(rules, ref, content)
	if err == nil {
		markEmptied(normalised(ref.GroupVersionKind().GroupKind(), content), out)
	}
	return out, err
}

func markEmptied(before, after map[string]any) {
	for name, v := range before {
		if is, ok := after[name]; ok {
			after[name] = marked(v, is)
		}
	}
}

// marked returns a value with its emptied maps marked. The elements of a list are those of before only if the rules
// removed none.
func marked(before, after any) any {
	switch is := after.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		if len(is) == 0 && len(was) > 0 {
			return emptied{}
		}
		markEmptied(was, is)
	case []any:
		if was, _ := before.([]any); len(was) == len(is) {
			for i := range is {
				is[i] = marked(was[i], is[i])
			}
		}
	}
	return after
}

// pointers returns the fields to remove from an object, one by one. Group and kind of a rule are patterns here; an
// empty namespace or name matches any.
func pointers(rules []Rule, ref object.Ref) []string {
	var out []string
	for _, r := range rules {
		if len(r.JSONPointers) == 0 || !names(r, ref) {
			continue
		}
		if matches(object.Group(r.APIVersion), object.Group(ref.APIVersion)) && matches(r.Kind, ref.Kind) {
			out = append(out, r.JSONPointers...)
		}
	}
	return out
}

// operations returns the operations on an object. They are applied together. Kind, namespace and name of a rule must be
// equal here.
func operations(rules []Rule, ref object.Ref) []Operation {
	var out []Operation
	for _, r := range rules {
		if schema.FromAPIVersionAndKind(r.APIVersion, r.Kind) == ref.GroupVersionKind() &&
			r.Namespace == ref.Namespace && r.Name == ref.Name {
			out = append(out, r.Operations...)
		}
	}
	return slices.DeleteFunc(out, func(o Operation) bool { return o.Op == opIgnore })
}

// removed returns a document without the fields of JSON pointers, as far as it has them.
func removed(doc []byte, pointers []string) []byte {
	all := make([]Operation, 0, len(pointers))
	for _, p := range pointers {
		all = append(all, Operation{Op: "remove", Path: p})
	}
	if len(all) == 0 {
		return doc
	}
	options := jsonpatch.NewApplyOptions()
	options.AllowMissingPathOnRemove = true
	if out, err := patch(doc, all, options); err == nil {
		return out
	}
	for i := range all { // one of them is not valid: the others have an effect
		doc = patched(doc, all[i:i+1])
	}
	return doc
}

// patched returns a document after the operations, or unchanged if one of them fails.
func patched(doc []byte, operations []Operation) []byte {
	if len(operations) == 0 {
		return doc
	}
	out, err := patch(doc, operations, jsonpatch.NewApplyOptions())
	if err != nil {
		return doc
	}
	return out
}

// matches reports whether a pattern matches. A pattern that does not compile matches nothing.
func matches(pattern, s string) bool {
	if pattern == s {
		return true
	}
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(s)
}

// names reports whether the namespace and name of a rule match those of an object. An empty one matches any.
func names(r Rule, ref object.Ref) bool {
	if r.Namespace != "" && r.Namespace != ref.Namespace {
		return false
	}
	return r.Name == "" || r.Name == ref.Name
}

// patch returns a document after the operations.
func patch(doc []byte, operations []Operation, options *jsonpatch.ApplyOptions) ([]byte, error) {
	raw, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	p, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, err
	}
	return p.ApplyWithOptions(doc, options)
}

// patchOperations are the operations of JSON patch.
var patchOperations = []string{"add", "copy", "move", "remove", "replace", "test"}

// Invalid returns why a part of a rule has no effect on any object, as a sentence; empty if all parts are valid. It
// quotes no value.
func Invalid(r Rule) string {
	for _, p := range []string{object.Group(r.APIVersion), r.Kind} {
		if _, err := glob.Compile(p); len(r.JSONPointers) > 0 && err != nil {
			return "its pattern " + p + " does not compile"
		}
	}
	for _, o := range r.Operations {
		switch {
		case o.Op == opIgnore:
			if _, err := regexp.Compile(r.Name); err != nil {
				return "its name " + r.Name + " is not a valid regular expression"
			}
		case !slices.Contains(patchOperations, o.Op):
			return "its operation " + o.Op + " is unknown"
		}
	}
	return ""
}

// Matches reports whether a rule has a part for an object.
func Matches(r Rule, ref object.Ref) bool {
	one := []Rule{r}
	return Applies(one, ref) || Ignored(one, ref)
}

// Voided returns the operation that fails on a desired object and therefore voids the other operations on it, which
// would succeed without it. ok is false if there is none.
func Voided(rules []Rule, ref object.Ref, content map[string]any) (failing Operation, ok bool) {
	all := operations(rules, ref)
	if len(all) < 2 {
		return Operation{}, false
	}
	doc, err := document(rules, ref, content)
	if err != nil {
		return Operation{}, false
	}
	succeeded := false
	for _, o := range all {
		next, err := patch(doc, []Operation{o}, jsonpatch.NewApplyOptions())
		switch {
		case err == nil:
			doc, succeeded = next, true
		case !ok:
			failing, ok = o, true
		}
	}
	return failing, ok && succeeded
}
