// SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// targetKinds are the kinds that decide which clusters a bundle targets, and where it is deployed.
var targetKinds = []string{state.Bundle, state.ClusterKind, state.ClusterGroup, state.BundleDeployment}

// Targets reports which clusters bundles are deployed to, and why. It reads only Fleet's own objects. A name without a
// namespace may match several bundles. For each name that is not found or could not be read, there is an error, such as
// a *evaluate.NotFoundError, beside the report of the other ones, which is nil without any.
func Targets(ctx context.Context, src source.Source, o Options, names []source.Named) (*report.Targets, error) {
	r, err := collect.Open(ctx, src, &secret.Values{}, o.Progress)
	if err != nil {
		return nil, err
	}
	f, unread, err := r.Fleet(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	if f.NamespaceLabels, f.Coverage[state.Namespace], err = r.NamespaceLabels(ctx, f); err != nil {
		return nil, err
	}
	desired := &directory.Directory{Fleet: f}
	unread = slices.Concat(r.Description.Gaps, unread, collect.FleetGaps(f, collect.Everywhere, targetKinds...),
		collect.MappingGaps(f, collect.Everywhere))
	out := &report.Targets{Head: report.NewHead(report.KindTargets, o.Version, r.Description, desired),
		Gaps: report.Gaps(unread), Notes: targetNotes(f)}
	all := &targetsOf{Fleet: f, targeting: f.Targeting(), deployments: map[string]*v1alpha1.BundleDeployment{}}
	for _, bd := range f.BundleDeployments {
		all.deployments[bd.Namespace+"/"+bd.Name] = bd
	}
	var missing []error
	for _, n := range names {
		found := all.named(n)
		unread, read := f.Coverage[state.Bundle].Of(n.Namespace)
		switch {
		case len(found) > 0:
		case !read && unread.Reason != source.NotInSnapshot:
			missing = append(missing, fmt.Errorf("%s could not be read: %s: %s", n, unread.Reason, unread.Detail))
		default:
			target := evaluate.Target{Kind: evaluate.TargetBundle, Name: n.Name}
			missing = append(missing, collect.OrUnread(evaluate.NotFound(desired, target, n.Namespace), r.Description))
		}
		out.Bundles = append(out.Bundles, found...)
	}
	if len(out.Bundles) == 0 {
		return nil, evaluate.Join(missing)
	}
	out.Complete()
	return out, evaluate.Join(missing)
}

// targetNotes describe what the results do not include.
func targetNotes(f *state.Fleet) []string {
	var out []string
	if unread, _ := f.Coverage[state.BundleNamespaceMapping].Of(""); !f.Read(state.BundleNamespaceMapping, "") &&
		len(collect.MappingGaps(f, collect.Everywhere)) == 0 {
		out = append(out, fmt.Sprintf("BundleNamespaceMappings could not be read (%s): a bundle may also target "+
			"clusters of other namespaces", unread.Reason))
	}
	if f.ControllerVersion == "" {
		out = append(out, "the version of the controller is not known: where versions differ, the result is Unknown")
	}
	return out
}

// targetsOf has the data of the results.
type targetsOf struct {
	*state.Fleet
	targeting   *targeting.Fleet
	deployments map[string]*v1alpha1.BundleDeployment
}

func (f *targetsOf) named(n source.Named) []report.TargetedBundle {
	var out []report.TargetedBundle
	for _, b := range f.Bundles {
		if b.Name == n.Name && (n.Namespace == "" || n.Namespace == b.Namespace) {
			out = append(out, f.bundle(f.targeting.Bundle(b)))
		}
	}
	slices.SortFunc(out, func(a, b report.TargetedBundle) int { return strings.Compare(a.Namespace, b.Namespace) })
	return out
}

func (f *targetsOf) bundle(b *targeting.Bundle) report.TargetedBundle {
	out := report.TargetedBundle{Namespace: b.Namespace, Name: b.Name, Mode: b.Mode()}
	if b.Invalid != nil {
		out.Error = "a selector is not valid: " + b.Invalid.Error()
	}
	for _, t := range b.Targets {
		out.Targets = append(out.Targets, report.Target{Name: t.String(), Customization: t.Customization,
			DoNotDeploy: t.DoNotDeploy, Selects: targeting.Describe(t.Spec)})
	}
	for i := range b.Spec.TargetRestrictions {
		out.Restrictions = append(out.Restrictions, targeting.Describe(&b.Spec.TargetRestrictions[i]))
	}
	for r := range b.Results() {
		out.Clusters = append(out.Clusters, f.cluster(b, r))
	}
	return out
}

func (f *targetsOf) cluster(b *targeting.Bundle, r targeting.Result) report.TargetedCluster {
	out := report.TargetedCluster{Cluster: r.Cluster.Key(), Result: report.TargetResult(r.Outcome),
		Reason: string(r.Reason), Message: message(r),
		Group: r.Group, Groups: r.Cluster.Groups(), Changes: changes(b, r)}
	if r.Target != nil {
		out.Target = r.Target.String()
	}
	if r.Decides != nil {
		out.DecidedBy = r.Decides.String()
	}
	for _, c := range r.Customizations {
		out.Customizations = append(out.Customizations, c.String())
	}
	if out.BundleDeployment, out.Deployment = f.deployment(b, r); out.Deployment == report.DeploymentPending {
		out.Message += ", but the BundleDeployment does not exist yet: " + check.Pending(b.Bundle, r.Cluster.Cluster)
	}
	return out
}

func (f *targetsOf) deployment(b *targeting.Bundle, r targeting.Result) (key string, is report.TargetDeployment) {
	namespace := r.Cluster.Status.Namespace
	key = namespace + "/" + b.Name
	_, exists := f.deployments[key]
	switch {
	case namespace != "" && exists && r.Outcome == targeting.Excluded:
		return key, report.DeploymentLeftover
	case namespace != "" && exists:
		return key, report.DeploymentExists
	case namespace != "" && !f.Read(state.BundleDeployment, namespace):
		return "", report.DeploymentUnread
	case b.DeletionTimestamp != nil:
		return "", report.DeploymentNone
	case r.Outcome == targeting.Expected && check.Pending(b.Bundle, r.Cluster.Cluster) != "":
		return "", report.DeploymentPending
	case r.Outcome == targeting.Expected:
		return "", report.DeploymentAbsent
	}
	return "", report.DeploymentNone
}

// message returns a result as a sentence.
func message(r targeting.Result) string {
	switch r.Outcome {
	case targeting.Expected:
		return selected(r)
	case targeting.Blocked:
		return selected(r) + ", but the cluster has no namespace for BundleDeployments yet"
	}
	switch r.Reason {
	case targeting.DoNotDeploy:
		return bundleKind(r.Decides) + " " + r.Decides.String() + ", which decides, says doNotDeploy"
	case targeting.Restricted:
		return "a target or customization matches the cluster, but the restrictions, which are the targets of the " +
			"GitRepo, do not allow it"
	case targeting.CustomizationOnly:
		return "only a customization matches the cluster, and customizations select no cluster"
	case targeting.OtherAgent:
		return "the bundle deploys the agent of another cluster"
	case targeting.InvalidTarget:
		return "a selector of the bundle is not valid: Fleet evaluates none of its targets"
	case targeting.VersionUnknown:
		return "versions of Fleet differ in the result, and the version of the controller is not known"
	case targeting.GroupsUnread:
		return "a target depends on ClusterGroups, and not all of them could be read"
	case targeting.MappingsUnread:
		return "a BundleNamespaceMapping may select the namespace of the cluster, and not all that is needed could " +
			"be read"
	}
	return "no target matches the cluster"
}

func bundleKind(t *targeting.Target) string {
	if t.Customization {
		return "customization"
	}
	return "target"
}

func selected(r targeting.Result) string {
	s := r.Target.Title() + " selects the cluster"
	if r.Group != "" {
		s += " in group " + r.Group
	}
	names := make([]string, len(r.Customizations))
	for i, c := range r.Customizations {
		names[i] = c.String()
	}
	switch {
	case r.OptionsUnknown:
		s += "; which options apply depends on the version of Fleet, which is not known"
	case len(names) > 0:
		s += ", with the options of " + strings.Join(names, ", ")
	}
	return s
}

// changes returns what would change a result, a sentence each.
func changes(b *targeting.Bundle, r targeting.Result) []string {
	var out []string
	for _, t := range b.Ineffective(r) {
		out = append(out, targeting.WithoutEffect(t))
	}
	for _, group := range b.AbsentGroups() {
		if r.Outcome == targeting.Excluded {
			out = append(out, "ClusterGroup "+group+" does not exist: without it, no cluster is in it")
		}
	}
	switch r.Reason {
	case targeting.DoNotDeploy:
		out = append(out, fmt.Sprintf("without doNotDeploy in %s %s, the next one that matches would decide",
			bundleKind(r.Decides), r.Decides))
	case targeting.Restricted:
		for i := range b.Spec.TargetRestrictions {
			if unmet := b.UnmetRestriction(i, r.Cluster); len(unmet) > 0 {
				out = append(out, fmt.Sprintf("targetRestrictions[%d] would allow it if %s", i, conditions(unmet)))
			}
		}
	case targeting.NoMatch, targeting.CustomizationOnly:
		for _, t := range b.Targets {
			if unmet := b.Unmet(t, r.Cluster); len(unmet) > 0 && !t.Customization {
				out = append(out, fmt.Sprintf("%s would match if %s", t.Title(), conditions(unmet)))
			}
		}
	}
	return out
}

// conditions describes conditions that are not met.
func conditions(list []targeting.Condition) string {
	var out []string
	for _, c := range list {
		switch {
		case c.Field == "":
			return "it stated a field: without one, it matches no cluster"
		case c.Field == "clusterName":
			out = append(out, fmt.Sprintf("the cluster were %s", c.Requires))
		case c.Field == "clusterGroup":
			out = append(out, fmt.Sprintf("the cluster were in group %s", c.Requires))
		case c.Field == "clusterGroupSelector" && c.Group == "":
			out = append(out, fmt.Sprintf("the cluster were in a group with labels that match %s (it is in no group)",
				c.Requires))
		default:
			subject := "the cluster"
			if c.Group != "" {
				subject = "group " + c.Group
			}
			has := "is not set"
			if c.Set {
				has = "is " + c.Has
			}
			out = append(out, fmt.Sprintf("the labels of %s matched %s (%s %s)", subject, c.Requires, c.Label, has))
		}
	}
	return strings.Join(out, " and ")
}
