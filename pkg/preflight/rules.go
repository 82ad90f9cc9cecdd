// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Rule is one kind of problem of a rollout.
type Rule struct {
	Name string `json:"name"`
	// Severity is Error for a problem that prevents the rollout or its success. Verdict is then the result of the
	// rollout. With another severity it has no effect, unless it is Unknown.
	Severity report.Severity `json:"severity"`
	Verdict  report.Verdict  `json:"verdict"`
	// Description is for the documentation.
	Description string `json:"description"`
	// Advice is what to do about an item, if that is always the same.
	Advice string `json:"advice"`
}

//go:embed rules.yaml
var rulesFile []byte

// rules are the rules of the file, which the tests read too.
var rules = sync.OnceValue(func() []Rule {
	var out []Rule
	if err := yaml.UnmarshalStrict(rulesFile, &out); err != nil {
		return nil
	}
	return out
})

// Rules lists the rules, the most severe first. docs/verbs/preflight.md is made from it.
func Rules() []Rule { return rules() }

// ruleOf returns the rule with a name. The tests prove that each name in this package is that of a rule.
func ruleOf(name string) Rule {
	i := slices.IndexFunc(rules(), func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{Name: name}
	}
	return rules()[i]
}

// URL returns the address of the explanation of a rule, by its name.
func URL(rule string) string { return check.Pages + "verbs/preflight.md#" + strings.ToLower(rule) }
