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

// Rule is one of a bundle's comparePatches: what it does not want to hear of. Source: docs/fleet-behavior.md, 3.3.
type Rule struct {
	APIVersion, Kind, Namespace, Name string
	// JSONPointers are removed before comparing, one by one; group and kind are patterns, an empty namespace or name matches any.
	JSONPointers []string
	// Operations are applied together, or not at all where one of them fails; kind, namespace and name must be equal.
	Operations []Operation
}

// Operation is a JSON patch operation, or "ignore".
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// opIgnore is Fleet's own: an object that is not there is not missed.
const opIgnore = "ignore"

// Excused says whether the rules excuse the absence of an object. The namespace must be equal, an empty one matching cluster-scoped
// objects only; a name that is not equal is taken as an unanchored regular expression, and matches nothing if it does not compile.
func Excused(rules []Rule, ref object.Ref) bool {
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

// Applies says whether any rule changes what is compared of an object. It is cheap, and false for nearly all.
func Applies(rules []Rule, ref object.Ref) bool {
	for _, r := range rules {
		if r.removes(ref) || r.patches(ref) {
			return true
		}
	}
	return false
}

// Apply returns what is compared of an object's content once the rules have changed it; the argument is not changed. What the rules
// point into is the object as Fleet has it by then: without status, and a Secret's stringData is in its data.
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
		doc = out // one failing operation voids them all
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

// patches says whether the operation is one of JSON patch. One to ignore may stand beside it in the same rule.
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

// matches says whether a pattern matches. A pattern that does not compile matches nothing.
func matches(pattern, s string) bool {
	if pattern == s {
		return true
	}
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(s)
}
