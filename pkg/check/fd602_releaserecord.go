// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

func (in *Input) releaseRecord(out *found, d *evaluate.BundleDeployment) {
	for _, t := range in.recordProblems(d) {
		out.report(in.recordProblem(d, t))
	}
}

// recordProblems returns the problems of the release of a bundle deployment that do not follow from another one.
func (in *Input) recordProblems(d *evaluate.BundleDeployment) []directory.RecordProblem {
	var out []directory.RecordProblem
	failure, failed := lastFailure(d)
	for _, t := range d.RecordProblems {
		switch {
		case in.Facts.InProgress(&d.Deployment, t):
		case failed && t.Status == release.StatusFailed && t.Record != failure.Record: // an earlier try
		case failed && t.Status == pruned && failedCorrections(d): // the cause is why the corrections fail
		default:
			out = append(out, t)
		}
	}
	return out
}

// pruned is the status of a revision whose record Helm has removed.
const pruned = "pruned"

// lastFailure returns the newest revision that failed.
func lastFailure(d *evaluate.BundleDeployment) (last directory.RecordProblem, ok bool) {
	for _, t := range d.RecordProblems {
		if t.Status == release.StatusFailed && t.Record.Revision > last.Record.Revision {
			last, ok = t, true
		}
	}
	return last, ok
}

// recordProblem returns the finding about a problem of a release.
func (in *Input) recordProblem(d *evaluate.BundleDeployment, t directory.RecordProblem) Finding {
	f := onDeployment(d, "%s", t.Detail)
	if name := "release " + t.Record.Release(); !strings.Contains(t.Detail, name) {
		f.Message = name + ": " + t.Detail
	}
	f.Message += in.Facts.Quote(t.Reported, in.Facts.SecretsOf(&d.Deployment)...)
	secret := directory.SecretRef(t.Record)
	f.say("record %s/%s is %s%s", secret.Namespace, secret.Name, t.Status, since(t.Since))
	f.Aspect, f.Remedies = t.Record.String(), append(in.showHooks(&d.Deployment, t), in.Steps.Redeploy(d)...)
	f.sayIf(len(t.Hooks) > 0, waitsForHooks(t))
	if namespaceEnds(&d.Deployment, t) {
		f.Message = fmt.Sprintf("release %s is no longer recorded, because its namespace is being deleted%s",
			t.Record.Release(), in.Facts.SaidOf(&d.Deployment, "Deployed"))
		f.Remedies = only(in.showEnding(&d.Deployment, t.Record.Namespace))
		return f
	}
	if ofRefusedDeploy(d, t) {
		f.Follows = originsAt(&d.Deployment, codes.NotApplied)
		f.Remedies = only(in.Steps.Commands.ShowCauses(&d.Deployment))
	}
	switch {
	case t.Status == release.StatusFailed:
		in.addFailure(&f, d, t)
	case t.Status == release.StatusUninstalled:
		f.say("Helm deploys no release whose last revision is uninstalled (\"has no deployed releases\")")
		f.Remedies = append([]remedy.Remedy{in.DeleteRecord(d, t.Record)}, f.Remedies...)
	case strings.HasPrefix(t.Status, "pending-") && t.Predecessor:
		f.say("the next deploy resolves it: the agent rolls back to the revision before it, and deploys again")
	case in.Facts.BlocksHelm(&d.Deployment, t):
		f.say("Helm refuses to deploy the release while this revision is pending")
		f.Remedies = []remedy.Remedy{in.DeleteRecord(d, t.Record)}
		if !in.Facts.LongAgo(t.Since) {
			f.say("an agent may still be at work on it: deleting the record would interrupt it")
			f.Remedies = []remedy.Remedy{in.Steps.On(d.ClusterID).History(t.Record)}
		}
	}
	return f
}

// DeleteRecord deletes the record of a revision that makes Helm refuse every deploy.
func (in *Input) DeleteRecord(d *evaluate.BundleDeployment, revision release.Name) remedy.Remedy {
	secret := directory.SecretRef(revision)
	return remedy.Run(in.Steps.On(d.ClusterID).For(secret)+" delete "+remedy.Named("secret", secret.Name),
		"deletes the record of that revision, and no other object: the agent can then deploy again").
		With(remedy.Step{Kind: remedy.StepUnblock, Object: secret, Downstream: true})
}

// waitsForHooks says which hooks Helm runs while a revision is pending.
func waitsForHooks(t directory.RecordProblem) string {
	var hooks []string
	for _, h := range t.Hooks {
		hooks = append(hooks, "hook "+h.Kind+" "+h.Name)
	}
	return "while the revision is " + t.Status + ", Helm waits for " + facts.List(hooks) + ", unless it was " +
		"interrupted"
}

// showHooks shows whether the first hook for which Helm waits has ended; none without hooks.
func (in *Input) showHooks(d *directory.Deployment, t directory.RecordProblem) []remedy.Remedy {
	if len(t.Hooks) == 0 {
		return nil
	}
	h := t.Hooks[0]
	return only(remedy.Run(in.Steps.On(d.ClusterID).Kubectl+remedy.InNamespace(t.Record.Namespace)+" describe "+
		escape.Shell(strings.ToLower(h.Kind)+"/"+h.Name), "shows whether the hook has ended: until then, no other "+
		"deploy of the release begins"))
}

// hooked returns the pending revision of a bundle deployment that has hooks.
func hooked(d *directory.Deployment) (t directory.RecordProblem, ok bool) {
	i := slices.IndexFunc(d.RecordProblems, func(t directory.RecordProblem) bool { return len(t.Hooks) > 0 })
	if i < 0 {
		return t, false
	}
	return d.RecordProblems[i], true
}

// namespaceEnds reports whether a release has no record because its namespace is being deleted, as the agent was told.
func namespaceEnds(d *directory.Deployment, t directory.RecordProblem) bool {
	if t.Status != pruned || d.BD == nil {
		return false
	}
	deployed := v1alpha1.ConditionOf(d.BD.Status.Conditions, "Deployed")
	m := endingNamespace.FindStringSubmatch(deployed.Message)
	return deployed.Status == "False" && m != nil && m[1] == t.Record.Namespace
}

// ofRefusedDeploy reports whether a problem of a release is one of a deploy that its agent tries again and again: each
// try adds a revision, and the oldest one is removed. FD604 reports why it fails.
func ofRefusedDeploy(d *evaluate.BundleDeployment, t directory.RecordProblem) bool {
	if t.Status != pruned && t.Status != release.StatusFailed || d.BD == nil {
		return false
	}
	isFalse := func(condition string) bool {
		return v1alpha1.ConditionOf(d.BD.Status.Conditions, condition).Status == "False"
	}
	waits := d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID
	return waits && isFalse("Deployed") || isFalse("Installed")
}

// addFailure adds what a failed revision means. FD604 reports the last deploy if it failed.
func (in *Input) addFailure(f *Finding, d *evaluate.BundleDeployment, t directory.RecordProblem) {
	if facts.Corrects(d) != nil {
		f.say("correctDrift is enabled: each correction that fails adds a revision, and the oldest one is removed")
		for _, other := range d.RecordProblems {
			f.sayIf(other.Status == pruned, other.Detail)
		}
	}
	fix, ok := in.ByHand(d, t.Reported)
	waits := d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID
	takes, taken := takeFields(d, t.Reported)
	switch {
	case ok && waits && taken:
		f.Remedies = []remedy.Remedy{takes, in.Steps.TryNow(&d.Deployment), fix}
	case ok && taken:
		f.Remedies = append([]remedy.Remedy{takes}, append(f.Remedies, fix)...)
	case ok && waits: // the agent tries it again and again
		f.Remedies = []remedy.Remedy{fix, in.Steps.TryNow(&d.Deployment).ByHand()}
	case ok:
		f.Remedies = append([]remedy.Remedy{fix}, f.Remedies...)
	}
}

// removedByHand returns the revision with which somebody removed objects of a release with Helm: it is uninstalled, or
// one of another chart.
func removedByHand(d *evaluate.BundleDeployment) (directory.RecordProblem, bool) {
	i := slices.IndexFunc(d.RecordProblems, func(t directory.RecordProblem) bool {
		return t.Status == release.StatusUninstalled || t.Status == release.StatusDeployed
	})
	if i < 0 {
		return directory.RecordProblem{}, false
	}
	return d.RecordProblems[i], true
}

// failedCorrections reports whether the agent corrects drift, and a newer revision failed.
func failedCorrections(d *evaluate.BundleDeployment) bool {
	return facts.Corrects(d) != nil && slices.ContainsFunc(d.RecordProblems,
		func(t directory.RecordProblem) bool { return t.Status == release.StatusFailed })
}

// FailedOn returns the object because of which the last deploy of a bundle deployment failed, or the last correction of
// drift; nil if it is not known.
func FailedOn(d *evaluate.BundleDeployment) *object.Ref {
	words := errorOf(&d.Deployment)
	if failure, failed := lastFailure(d); failed && words == "" || failedCorrections(d) {
		words = failure.Reported
	}
	return refusedBy(d, words)
}

// refused reports whether Fleet could not deploy a bundle because of one of its objects.
func refused(d *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if d.BD == nil || !waits(&d.Deployment) {
		return false
	}
	named := FailedOn(d)
	return named != nil && named.Key() == o.Key()
}

// fleetsReleases reports the releases of Fleet itself that are pending or failed. They are installed by Rancher or with
// Helm, and have no bundle.
func (in *Input) fleetsReleases(out *found, c *directory.Cluster) {
	if !in.Result.Whole || in.Result.StatusOnly {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.State.Latest)) {
		r := c.State.Latest[name]
		if r.BundleID != "" || r.Damaged != "" || !fleetsRelease(c, r) {
			continue
		}
		if ended := r.Status == release.StatusFailed || r.Status == release.StatusUninstalling; !ended && !r.Pending() {
			continue
		}
		place := secret.Place{Cluster: slices.Index(in.Result.Desired.Clusters, c), Namespace: r.Namespace}
		f := Finding{Object: directory.SecretRef(r.Name), Cluster: in.Facts.ClusterName(c),
			Message: fmt.Sprintf("release %s of Fleet itself: revision %d is %s%s", r.Release(), r.Revision, r.Status,
				in.Facts.Quote(r.Description, place))}
		f.say("record %s/%s is %s%s", r.Namespace, r.SecretName(), r.Status, since(r.Deployed))
		out.report(f, in.Steps.On(c.ID).History(r.Name))
	}
}

// fleetsRelease reports whether a release is one of those that install Fleet, in a namespace of Fleet.
func fleetsRelease(c *directory.Cluster, r *state.Record) bool {
	names := r.Name.Name == "fleet" || r.Name.Name == "fleet-crd" || fleet.IsAgentBundle(r.Name.Name)
	return names && (fleet.IsSystemNamespace(r.Namespace) || c.State.AgentNamespaces()[r.Namespace])
}
