// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"regexp"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gobwas/glob"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

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
