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

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Rule is one of a bundle's comparePatches, which exclude fields or objects from the comparison. Source: docs/fleet-behavior.md, 3.3.
type Rule struct {
	APIVersion, Kind, Namespace, Name string
	// JSONPointers are removed before comparing, one by one; group and kind are patterns, an empty namespace or name matches any.
	JSONPointers []string
	// Operations are applied together, or not at all if one of them fails; kind, namespace and name must be equal.
	Operations []Operation
}

// Operation is a JSON patch operation, or "ignore".
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// opIgnore is an operation of Fleet: a missing object is not reported.
const opIgnore = "ignore"

// Ignored reports whether the rules ignore a missing object. The namespace must be equal; an empty namespace matches cluster-scoped objects
// only. A name that is not equal is an unanchored regular expression; it matches nothing if it does not compile.
func Ignored(rules []Rule, ref object.Ref) bool {
	for _, r := range rules {
		if r.APIVersion != ref.APIVersion || r.Kind != ref.Kind || r.Namespace != ref.Namespace || !r.ignores() {
			continue
		}
		if r.Name == "" || r.Name == ref.Name {
			return true
		}
		if re, err := regexp.Compile(r.Name); err == nil && re.MatchString(ref.Name) {
			return true
		}
	}
	return false
}

func (r Rule) ignores() bool {
	return slices.ContainsFunc(r.Operations, func(o Operation) bool { return o.Op == opIgnore })
}

// Applies reports whether a rule changes the compared content of an object. It is cheap, and false for most objects.
func Applies(rules []Rule, ref object.Ref) bool {
	for _, r := range rules {
		if r.removes(ref) || r.patches(ref) {
			return true
		}
	}
	return false
}

// Apply returns the content of an object after the rules; the argument is not changed. The rules apply to the object in the form that Fleet
// compares: without status, and with a Secret's stringData in its data.
func Apply(rules []Rule, ref object.Ref, content map[string]any) (map[string]any, error) {
	content = maps.Clone(normaliserOf(ref.GroupVersionKind().GroupKind()).live(content))
	delete(content, "status")
	doc, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if r.removes(ref) {
			for _, p := range r.JSONPointers {
				if out, err := patched(doc, []Operation{{Op: "remove", Path: p}}); err == nil {
					doc = out
				}
			}
		}
	}
	if out, err := patched(doc, operations(rules, ref)); err == nil {
		doc = out // if one operation fails, none is applied
	}
	out, _, err := object.Decode(doc)
	return out, err
}

func (r Rule) removes(ref object.Ref) bool {
	return len(r.JSONPointers) > 0 && matches(object.Group(r.APIVersion), object.Group(ref.APIVersion)) && matches(r.Kind, ref.Kind) &&
		(r.Namespace == "" || r.Namespace == ref.Namespace) && (r.Name == "" || r.Name == ref.Name)
}

func (r Rule) patches(ref object.Ref) bool {
	return slices.ContainsFunc(r.Operations, Operation.patches) && r.GroupVersionKind() == ref.GroupVersionKind() &&
		r.Namespace == ref.Namespace && r.Name == ref.Name
}

// patches reports whether the operation is one of JSON patch. The same rule may also contain an ignore operation.
func (o Operation) patches() bool { return o.Op != opIgnore }

// GroupVersionKind is the kind that the rule's operations match.
func (r Rule) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

func operations(rules []Rule, ref object.Ref) []Operation {
	var out []Operation
	for _, r := range rules {
		if !r.patches(ref) {
			continue
		}
		for _, op := range r.Operations {
			if op.patches() {
				out = append(out, op)
			}
		}
	}
	return out
}

func patched(doc []byte, ops []Operation) ([]byte, error) {
	if len(ops) == 0 {
		return doc, nil
	}
	raw, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	p, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, err
	}
	return p.Apply(doc)
}

// matches reports whether a pattern matches. A pattern that does not compile matches nothing.
func matches(pattern, s string) bool {
	if pattern == s {
		return true
	}
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(s)
}
