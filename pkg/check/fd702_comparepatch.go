// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *pass) comparePatch() {
	bundles, all := map[string][]*evaluate.BundleDeployment{}, map[string]int{}
	for _, d := range in.Desired.Directory.Deployments {
		if key := ruled(d); key != "" {
			all[key]++
		}
	}
	for _, d := range in.Deployments {
		if key := ruled(&d.Deployment); key != "" {
			bundles[key] = append(bundles[key], d)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(bundles)) {
		problems := rulesWithoutEffect(bundles[key], len(bundles[key]) == all[key])
		if len(problems) == 0 {
			continue
		}
		ref := bundles[key][0].Ref()
		if namespace, name, ok := strings.Cut(bundles[key][0].Bundle, "/"); ok {
			ref = facts.Ref(state.Bundle, namespace, name)
		}
		f := Finding{Object: ref, Message: problems[0]}
		if len(problems) > 1 {
			f.Message, f.Evidence = fmt.Sprintf("%d problems in the rules of bundle %s", len(problems),
				ref.Name), problems
		}
		in.report(f, remedy.Advise("correct diff.comparePatches in the fleet.yaml of the bundle"))
	}
}

// ruled returns the bundle of a bundle deployment that has rules, or its own key if the bundle is not known; empty if
// it has no rules.
func ruled(d *directory.Deployment) string {
	diff := d.Options().Diff
	if d.BD == nil || d.FromFiles() || diff == nil {
		return ""
	}
	if len(diff.ComparePatches) == 0 {
		return ""
	}
	return cmp.Or(d.Bundle, d.Key())
}

// rulesWithoutEffect returns the problems of the rules of one bundle, as sentences. whole is true if deployments are
// all those of the bundle.
func rulesWithoutEffect(deployments []*evaluate.BundleDeployment, whole bool) []string {
	var out []string
	said := map[string]bool{}
	add := func(problem string) {
		if !said[problem] {
			said[problem] = true
			out = append(out, problem)
		}
	}
	matched, known := map[string]bool{}, whole
	for _, d := range deployments {
		// The rules are those of the present options, the objects those of the release.
		applied := d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
		if !applied || d.Problem != "" || d.On == nil {
			known = false
		}
		rules := d.Options().Diff.ComparePatches
		for _, r := range rules {
			name := ruleName(r)
			matched[name] = matched[name] || slices.ContainsFunc(d.Desired,
				func(o *resolve.Object) bool { return compare.Matches(r, o.Ref) })
			if why := compare.Invalid(r); why != "" {
				add("the rule for " + name + " has no effect: " + why)
				matched[name] = true
			}
		}
		for _, o := range d.Desired {
			if operationsOf(rules) < 2 {
				break // one operation cannot void another
			}
			if !compare.Applies(rules, o.Ref) {
				continue
			}
			content, _, err := object.Decode(o.Raw)
			if err != nil {
				continue
			}
			if op, void := compare.Voided(rules, o.Ref, content); void {
				add(fmt.Sprintf("no operation of the rules for %s takes effect: %s %s fails on the desired object",
					o.Key(), op.Op, op.Path))
			}
		}
	}
	if !known {
		return out
	}
	for _, d := range deployments {
		for _, r := range d.Options().Diff.ComparePatches {
			if name := ruleName(r); !matched[name] {
				add("the rule for " + name + " matches no object of the bundle")
			}
		}
	}
	return out
}

func operationsOf(rules []compare.Rule) int {
	n := 0
	for _, r := range rules {
		n += len(r.Operations)
	}
	return n
}

// ruleName names the objects of a rule: "apps/v1 Deployment web/frontend".
func ruleName(r compare.Rule) string {
	return strings.TrimSpace(r.APIVersion + " " + r.Kind + " " + strings.Trim(r.Namespace+"/"+r.Name, "/"))
}
