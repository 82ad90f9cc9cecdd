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
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) comparePatch(out *found) {
	bundles, all := map[string][]*evaluate.BundleDeployment{}, map[string]int{}
	for _, d := range in.Result.Desired.Directory.Deployments {
		all[ruled(d)]++
	}
	for _, d := range in.Result.Deployments {
		key := ruled(&d.Deployment)
		bundles[key] = append(bundles[key], d)
	}
	delete(bundles, "")
	for _, key := range slices.Sorted(maps.Keys(bundles)) {
		problems := rulesWithoutEffect(bundles[key], len(bundles[key]) == all[key])
		if len(problems) == 0 {
			continue
		}
		f := Finding{Object: bundles[key][0].Ref(), Message: problems[0]}
		if bundle := bundles[key][0].Bundle; bundle != "" {
			f.Object = facts.Named(state.Bundle, bundle)
		}
		if len(problems) > 1 {
			f.Message = fmt.Sprintf("%d problems in the rules of bundle %s", len(problems), f.Object.Name)
			f.Evidence = problems
		}
		out.report(f, remedy.Advise("correct diff.comparePatches in the fleet.yaml of the bundle"))
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
	add := func(problem string) {
		if !slices.Contains(out, problem) {
			out = append(out, problem)
		}
	}
	matched, known := map[string]bool{}, whole
	for _, d := range deployments {
		// The rules are those of the present options, the objects those of the release.
		applied := d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
		if !applied || d.Problem != "" || !d.Placed {
			known = false
		}
		rules := d.Options().Diff.ComparePatches
		for _, r := range rules {
			name, why := ruleName(r), compare.Invalid(r)
			if why != "" {
				add("the rule for " + name + " has no effect: " + why)
			}
			matched[name] = matched[name] || why != "" || matches(r, d.Desired)
		}
		for _, o := range d.Desired {
			if problem := voided(rules, o); problem != "" {
				add(problem)
			}
		}
	}
	for _, d := range deployments {
		for _, r := range d.Options().Diff.ComparePatches {
			if name := ruleName(r); known && !matched[name] {
				add("the rule for " + name + " matches no object of the bundle" + otherNamespace(r, deployments))
			}
		}
	}
	return out
}

// otherNamespace says that a rule names an object in another namespace, or without one; empty if it does not.
func otherNamespace(r compare.Rule, deployments []*evaluate.BundleDeployment) string {
	for _, d := range deployments {
		for _, o := range d.Desired {
			with := r
			with.Namespace = o.Namespace
			if r.Name != "" && compare.Matches(with, o.Ref) {
				return ": it must name namespace " + o.Namespace
			}
		}
	}
	return ""
}

func matches(r compare.Rule, objects []*desired.Object) bool {
	return slices.ContainsFunc(objects, func(o *desired.Object) bool { return compare.Matches(r, o.Ref) })
}

// voided says that one operation for an object fails, which voids the others; empty if that does not happen.
func voided(rules []compare.Rule, o *desired.Object) string {
	if operationsOf(rules) < 2 || !compare.Applies(rules, o.Ref) {
		return ""
	}
	content, _, err := object.Decode(o.Raw)
	if err != nil {
		return ""
	}
	op, void := compare.Voided(rules, o.Ref, content)
	if !void {
		return ""
	}
	return fmt.Sprintf("no operation of the rules for %s takes effect: %s %s fails on the desired object", o.Key(),
		op.Op, op.Path)
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
