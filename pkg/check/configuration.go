// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
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
			matches := func(o *desired.Object) bool { return compare.Matches(r, o.Ref) }
			name, why := ruleName(r), compare.Invalid(r)
			if why != "" {
				add("the rule for " + name + " has no effect: " + why)
			}
			matched[name] = matched[name] || why != "" || slices.ContainsFunc(d.Desired, matches)
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

// voided says that one operation for an object fails, which voids the others; empty if that does not happen.
func voided(rules []compare.Rule, o *desired.Object) string {
	operations := 0
	for _, r := range rules {
		operations += len(r.Operations)
	}
	if operations < 2 || !compare.Applies(rules, o.Ref) {
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

// ruleName names the objects of a rule: "apps/v1 Deployment web/frontend".
func ruleName(r compare.Rule) string {
	return strings.TrimSpace(r.APIVersion + " " + r.Kind + " " + strings.Trim(r.Namespace+"/"+r.Name, "/"))
}

func (in *Input) secretInStatus(out *found, d *evaluate.BundleDeployment) {
	names := shownBy(d)
	if len(names) == 0 {
		return
	}
	f := onDeployment(d, "the status of %s shows values of %s", d.Key(), facts.List(names))
	f.Evidence = []string{"every user who can read BundleDeployments in " + d.Namespace +
		", or Bundles or GitRepos in the namespace of the bundle, can read them"}
	out.report(f, changePasswords(names))
}

// shownBy returns the Secrets with values that the status of a bundle deployment shows.
func shownBy(d *evaluate.BundleDeployment) []string {
	if d.BD == nil {
		return nil
	}
	return secretsShown(d.BD.Status.ModifiedStatus)
}

// changePasswords is the remedy for Secrets with values that a status shows.
func changePasswords(secrets []string) remedy.Remedy {
	return remedy.Advise("restore %s to the values of the bundle, then change the exposed passwords",
		facts.List(secrets))
}

// secretInSummary reports an aggregate with a summary that shows a value which no deployment shows any more. The status
// of a Cluster can be 15 minutes old. Deployments name their Bundle, GitRepo, HelmOp and Cluster, but no ClusterGroup.
func (in *Input) secretInSummary(out *found, a *evaluate.Aggregate) {
	var modified []v1alpha1.ModifiedStatus
	if s := a.Object.Reported().Summary; s != nil {
		for _, r := range s.NonReadyResources {
			modified = append(modified, r.ModifiedStatus...)
		}
	}
	names := secretsShown(modified)
	reported := a.Kind != state.ClusterGroup && slices.ContainsFunc(a.BundleDeployments,
		func(d *evaluate.BundleDeployment) bool { return len(shownBy(d)) > 0 })
	if len(names) == 0 || reported {
		return
	}
	out.report(Finding{Object: facts.RefOf(a), Message: fmt.Sprintf("the status of %s %s shows values of %s",
		strings.ToLower(a.Kind), a.Key(), facts.List(names))}, changePasswords(names))
}

// secretsShown returns the Secrets with patches that contain a value. A patch that only removes keys, or changes
// labels, contains none.
func secretsShown(entries []v1alpha1.ModifiedStatus) []string {
	var out []string
	for _, m := range entries {
		if m.Kind != "Secret" || m.APIVersion != "v1" || m.Patch == "" {
			continue
		}
		var patch struct {
			Data       map[string]*string `json:"data"`
			StringData map[string]*string `json:"stringData"`
			Metadata   struct {
				Annotations map[string]*string `json:"annotations"`
			} `json:"metadata"`
		}
		err := json.Unmarshal([]byte(m.Patch), &patch)
		copied := patch.Metadata.Annotations[corev1.LastAppliedConfigAnnotation] != nil
		shown := hasValue(patch.Data) || hasValue(patch.StringData)
		if err != nil || copied || shown {
			out = append(out, object.Ref(m.Key()).Key().String())
		}
	}
	return out
}

func hasValue(data map[string]*string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(data)), func(v *string) bool { return v != nil && *v != "" })
}

func (in *Input) hazard(out *found, b *v1alpha1.Bundle) {
	if fleet.IsAgentBundle(b.Name) && b.Labels[fleet.RepoLabel]+b.Labels[fleet.HelmOpLabel] != "" {
		out.report(Finding{Object: facts.RefTo(b),
			Message: fmt.Sprintf("the name of Bundle %s begins with fleet-agent: Fleet treats it as its agent, and "+
				"never uninstalls it", facts.Key(b)),
		}, remedy.Advise("give the bundle another name in its fleet.yaml"))
	}
	in.emptyOverride(out, b)
}

// misplaced reports a bundle with a targetNamespace and objects that have no namespace.
func (in *Input) misplaced(out *found, d *evaluate.BundleDeployment) {
	var names []string
	for _, o := range d.Rendering.ClusterScoped {
		names = append(names, o.Kind+" "+o.Name)
	}
	if len(names) == 0 {
		return
	}
	f := onDeployment(d, "every deploy of %s fails: it has a targetNamespace and cluster-scoped objects: %s", d.Key(),
		facts.List(names))
	out.report(f, remedy.Advise("use defaultNamespace instead of namespace in the fleet.yaml of the bundle"))
}

// unconfirmed reports a release record that claims objects outside of its namespace, if nothing confirms it.
func (in *Input) unconfirmed(out *found, d *evaluate.BundleDeployment) {
	var claimed []string
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Reason == evaluate.Unconfirmed {
			claimed = append(claimed, o.Key().String())
		}
	}
	if len(claimed) == 0 {
		return
	}
	r := directory.SecretRef(d.Release)
	f := about(d, r, "the record of release %s claims %s outside of its namespace, and nothing else confirms it",
		d.Release, facts.Count(len(claimed), "object"))
	f.say("who may create Secrets in namespace %s can write such a record", r.Namespace)
	f.say("it claims %s: whether a bundle desires them is not known", facts.List(claimed))
	f.sayIf(!in.Result.Desired.Cluster(d.ClusterID).State.Coverage.TrustLabels.Whole(),
		fmt.Sprintf("the labels of namespace %s, which say whose "+
			"records are trusted, could not be read", ownership.TrustNamespace))
	out.report(f, in.Steps.On(d.ClusterID).ShowSecret(r),
		remedy.Advise("audit the management cluster together with this one, which confirms the releases of bundles; "+
			"or %s", ownership.TrustAdvice(r.Namespace)))
}

// largeSize is the size in bytes of the JSON of a Bundle from which it is reported. The limit of etcd is 1.5 MiB by
// default.
const largeSize = 1 << 20

func (in *Input) largeBundle(out *found, b *v1alpha1.Bundle) {
	if b.Size <= largeSize {
		return
	}
	out.report(Finding{Object: facts.RefTo(b),
		Message: fmt.Sprintf("Bundle %s has %.1f MiB", facts.Key(b), float64(b.Size)/(1<<20)),
	}, remedy.Advise("split the directory into several bundles, or exclude files with .fleetignore"))
}
