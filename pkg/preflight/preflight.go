// SPDX-License-Identifier: Apache-2.0

// Package preflight predicts problems before a rollout: what Helm or Fleet's agent would refuse, which objects have
// another owner, and which objects would be taken over, overwritten or deleted. It is a pure function of the result of
// an audit with the contents of the bundles.
package preflight

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Check predicts the rollout of every bundle that is, or may be, deployed to this cluster. elsewhere is the number of
// bundles that are known to be deployed to other clusters.
func Check(c *check.Input) (rollouts []report.Rollout, elsewhere int) {
	dependencies, causes := facts.NewDependencies(c.Result.Desired.Directory), c.Causes()
	for _, d := range c.Result.Deployments {
		if d.OnOtherCluster {
			elsewhere++
			continue
		}
		if d.FromFiles() && len(d.Files.Elsewhere) > 0 {
			elsewhere += len(d.Files.Elsewhere)
			continue
		}
		r := &rollout{c: c, d: d, dependencies: dependencies, causes: causes, notAsked: map[string]int{},
			renamed: map[object.Key]bool{}, Rollout: report.Rollout{
				Namespace: d.Namespace, Name: d.Name, Cluster: d.ClusterKey(), Bundle: d.Bundle, GitRepo: d.GitRepo,
				HelmOp: d.HelmOp,
				SetID:  d.Ownership.SetID, Release: d.Ownership.Release(), Verdict: report.VerdictOK,
			}}
		r.predict()
		r.retry()
		for _, item := range r.Items {
			for i := range item.Remedies {
				item.Remedies[i].URL = URL(item.Rule)
			}
		}
		rollouts = append(rollouts, r.Rollout)
	}
	return rollouts, elsewhere
}

// Gaps returns what could not be read, without what the items of a rollout say: what its rendering lacks, and kinds
// that are not served. What other bundles desire that are not installed, and cannot be rendered, is not in question.
func Gaps(c *check.Input) []report.Gap {
	said := map[report.Gap]bool{}
	for _, d := range c.Result.Desired.Deployments {
		inScope := slices.ContainsFunc(c.Result.Deployments, func(e *evaluate.BundleDeployment) bool {
			return e.BundleDeployment == d
		})
		for _, g := range d.Rendering.Gaps {
			said[report.Gap(g)] = inScope || len(d.Rendering.Objects) == 0
		}
	}
	return slices.DeleteFunc(report.Gaps(c.Result.Gaps), func(g report.Gap) bool {
		return said[g] || g.Reason == evaluate.KindNotServed
	})
}

func (r *rollout) predict() {
	if r.deleting() {
		return
	}
	r.failed()
	r.parents()
	r.held()
	r.agent()
	defer r.paused()
	r.refusals()
	r.names()
	if r.d.From != desired.FromBundle && r.d.From != desired.FromFiles { // the desired objects are not known
		r.Release = "" // the release in the record may not be that of the bundle
		if r.d.Rendering.Refused == "" {
			why := strings.Join(r.d.Rendering.Unresolved, "; ")
			if r.d.BD == nil && why == "" {
				why = "its contents are on the cluster that manages this one"
			}
			r.add("NothingRendered", nil, "nothing can be predicted: %s", cmp.Or(why, r.d.Detail))
		}
		return
	}
	r.DesiredFrom = string(r.d.From)
	if len(r.d.Rendering.Unresolved) > len(r.d.Rendering.ValuesMissing) { // missing values are already reported
		r.add("PartlyRendered", nil, "the prediction may be incomplete: %s",
			strings.Join(r.d.Rendering.Unresolved, "; "))
	}
	r.recordSize()
	r.manifests()
	r.release()
	r.notBuilt()
	for i := range r.d.Objects {
		r.object(&r.d.Objects[i])
	}
	for _, why := range slices.Sorted(maps.Keys(r.notAsked)) {
		r.add("NotAsked", nil, "the API server, which decides, was not asked about %s: %s",
			facts.Count(r.notAsked[why], "object"), why)
	}
	r.deletions()
}

// deleting reports that the BundleDeployment or its Bundle is being deleted: no deploy follows that could be predicted.
func (r *rollout) deleting() bool {
	if r.d.FromFiles() {
		return false
	}
	for _, ref := range []object.Ref{facts.Named(state.GitRepo, r.gitRepo()), facts.Named(state.HelmOp, r.d.HelmOp),
		facts.Named(state.Bundle, r.d.Bundle), facts.Ref(state.BundleDeployment, r.d.Namespace, r.d.Name)} {
		if o := r.c.Facts.Object(ref); o != nil && facts.Deleting(o) {
			r.add("Deleting", nil, "%s %s/%s is being deleted: nothing is deployed any more", ref.Kind,
				ref.Namespace, ref.Name).Remedies = []report.Remedy{r.c.Steps.Commands.ShowCauses(&r.d.Deployment)}
			return true
		}
	}
	return false
}

// parents reports that a controller of Fleet does not process the GitRepo, the HelmOp or the Bundle, or that the Bundle
// is left of a GitRepo or HelmOp that does not exist.
func (r *rollout) parents() {
	for _, ref := range []object.Ref{facts.Named(state.GitRepo, r.gitRepo()), facts.Named(state.HelmOp, r.d.HelmOp),
		facts.Named(state.Bundle, r.d.Bundle)} { // the first one is the cause
		o := r.c.Facts.Object(ref)
		if o == nil {
			continue
		}
		if f, refused := r.c.NotProcessed(o); refused {
			r.add("NotProcessed", nil, "no change is deployed: %s", f.Message).Remedies = f.Remedies
			return
		}
	}
	if b := r.c.Facts.Bundle(r.d.Bundle); b != nil && !r.d.FromFiles() {
		if f, gone := r.c.NoRepo(b); gone {
			r.add("NotProcessed", nil, "no change is deployed: %s", f.Message).Remedies = f.Remedies
		}
	}
}

// agent reports that no agent deploys anything. One that is only silent may still do so, and a new one will.
func (r *rollout) agent() {
	steps := r.causes.NoAgent(&r.d.Deployment)
	a, _ := r.c.Facts.AgentOf(r.d.DeploymentNamespace())
	if isNew := !facts.IsSilent(a) && a.Stuck.Why == ""; isNew || len(steps) == 0 {
		return
	}
	rule, says := ruleOf("NoAgent"), []string{steps[0].Message}
	if since := steps[0].Since; !since.IsZero() {
		rule.Severity, rule.Verdict = report.Warning, report.VerdictUnknown
		says[0] += " since " + facts.Time(since)
	}
	says = append(says, steps[0].Evidence...)
	root := steps[len(steps)-1]
	if len(steps) > 1 {
		says = append(says, root.Message)
	}
	r.addAs(rule, nil, "nothing is deployed until the agent reports: %s", strings.Join(says, "; ")).Remedies = root.Next
}

// waits reports whether something is deployed once a pause ends.
func (r *rollout) waits() bool {
	n, d := r.Counts, r.d
	staged := d.BD != nil && !d.FromFiles() && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID
	return staged || r.Action == report.RolloutInstall || n.Create+n.TakeOver+n.Change+n.Delete > 0
}

// paused reports what pauses the bundle, after everything else. That is no error if nothing waits.
func (r *rollout) paused() {
	const format = "%s: nothing is deployed until it is resumed"
	files, d, rule := r.d.Files, r.d, ruleOf("Paused")
	if !r.waits() {
		rule.Severity, rule.Verdict = report.Warning, report.VerdictOK
	}
	by, known := r.c.Facts.Pauses(&d.Deployment)
	if repo := r.c.Facts.GitRepo(r.gitRepo()); d.FromFiles() && repo != nil && repo.Spec.Paused {
		by, known = facts.RefTo(repo), true
	}
	ofFiles := files != nil && files.Paused
	ofBundle := d.FromFiles() && by.Kind == state.Bundle // the Bundle is written again
	switch {
	case ofFiles:
		r.addAs(rule, nil, format, "the fleet.yaml has paused: true").
			Remedies = advise("remove paused from the fleet.yaml")
	case known && !ofBundle:
		r.addAs(rule, nil, format, by.Kind+" "+by.Namespace+"/"+by.Name+" is paused").
			Remedies = []report.Remedy{r.c.Steps.Resume(by)}
	case d.BD != nil && d.BD.Spec.Paused && !d.FromFiles():
		r.addAs(rule, nil, format, "its BundleDeployment is paused")
	default:
		return
	}
	r.Paused = true
}

// FailedDeploy returns the condition with the error of the last deploy of the present deployment id; empty if that did
// not fail. A wait for a dependency is no failure.
func FailedDeploy(d *evaluate.BundleDeployment) string {
	if d.BD == nil || d.FromFiles() || d.BD.Spec.DeploymentID == "" {
		return ""
	}
	isFalse := func(condition string) bool {
		return v1alpha1.ConditionOf(d.BD.Status.Conditions, condition).Status == "False"
	}
	const installed, deployed = "Installed", "Deployed"
	applied := d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
	switch {
	case isFalse(installed):
		return installed
	case applied, facts.SaysItWaits(d.BD):
	case isFalse(deployed):
		return deployed
	}
	return ""
}

// failed reports that the last deploy of the same deployment failed, or the last correction of drift: the next one
// fails too, until the cause is gone.
func (r *rollout) failed() {
	if condition := FailedDeploy(r.d); condition != "" {
		r.add("LastDeployFailed", check.FailedOn(r.d), "the last deploy of the present deployment failed%s",
			r.c.Facts.SaidOf(&r.d.Deployment, condition))
		return
	}
	if f, failed := r.c.FailedRevision(r.d); failed && !r.d.FromFiles() {
		isThis := func(x report.Remedy) bool { return x == r.c.Steps.Commands.Predict(&r.d.Deployment) }
		r.add("LastDeployFailed", check.FailedOn(r.d), "the last deploy or correction of drift failed: %s", f.Message).
			Remedies = slices.DeleteFunc(f.Remedies, isThis)
	}
}

// retry adds how Fleet tries a failed deploy again, after what must be done before. Another installation has no effect
// as long as something is predicted to refuse it.
func (r *rollout) retry() {
	condition, last := FailedDeploy(r.d), -1
	failed, refused := false, false
	for i, item := range r.Items {
		switch {
		case item.Rule == report.LastDeployFailed:
			last, failed = i, true
		case item.Severity == report.Error:
			last, refused = i, true
		}
	}
	if condition == "" || !failed { // nothing is predicted for what is being deleted
		return
	}
	if condition == "Installed" && refused {
		return
	}
	r.Items[last].Remedies = append(r.Items[last].Remedies, r.c.RetryNow(r.d, condition))
}

// refusals reports problems that prevent any deployment by Fleet's agent.
func (r *rollout) refusals() {
	d := r.d
	if files := d.Files; files != nil && files.Refused != "" {
		r.add("RefusedByApply", nil, "%s: fleet apply refuses the directory, and no Bundle of the GitRepo changes",
			files.Refused)
		return
	} else if files != nil && files.NoTarget != "" {
		r.add("NoTarget", nil, "%s: Fleet deploys it nowhere", files.NoTarget)
		return
	}
	r.dependsOn()
	r.account()
	for i := range d.Rendering.ClusterScoped {
		o := &d.Rendering.ClusterScoped[i]
		r.add("ClusterScoped", o, "%s is cluster-scoped, and the bundle has the targetNamespace %q: every deploy fails",
			o.Key(), d.Options().TargetNamespace).
			Remedies = []report.Remedy{r.c.AllowClusterScoped(d.GitRepo)}
	}
	if d.Rendering.Refused != "" && len(d.Rendering.ClusterScoped) == 0 {
		r.add("NotRendered", nil, "it cannot be rendered: %s", d.Rendering.Refused)
	}
	for _, missing := range d.Rendering.ValuesMissing {
		r.add("ValuesMissing", nil,
			"its valuesFrom names %s, which is not on the cluster: every deploy fails until it exists", missing)
	}
}

// account reports that the ServiceAccount with which the agent deploys does not exist.
func (r *rollout) account() {
	a, rule := r.d.Account, ruleOf("NoServiceAccount")
	switch {
	case a.Missing:
		r.addAs(rule, nil, "looking up service account %s: ServiceAccount %q not found: every deploy fails", a, a.Name).
			Remedies = advise("create the ServiceAccount, with the rights that the bundle needs, or correct " +
			"serviceAccount in the fleet.yaml or the GitRepo")
	case a.Unread != "":
		rule.Severity, rule.Verdict = report.Warning, report.VerdictUnknown
		r.addAs(rule, nil, "whether the ServiceAccount %s exists is not known: %s", a, a.Unread)
	}
}

// dependsOn reports what the agent finds when it tests the dependencies, before it renders the bundle.
func (r *rollout) dependsOn() {
	if len(r.d.DependsOn()) == 0 {
		return
	}
	var siblings []*directory.Deployment
	for _, d := range r.c.Result.Deployments {
		if d.FromFiles() {
			siblings = append(siblings, &d.Deployment)
		}
	}
	x := r.dependencies.Test(&r.d.Deployment, siblings)
	circle := r.circle(x.Later, siblings)
	switch {
	case x.Absent:
		r.add("DependencyAbsent", nil, "%s: the agent refuses every deploy until the BundleDeployment exists",
			x.Refused)
	case x.Refused != "":
		r.add("DependencyNotReady", nil, "%s: the agent refuses the deploy, and tries again until they are", x.Refused).
			Remedies = advise("find out why these bundles are not ready, with the verb why; from Fleet 0.15 on, " +
			"acceptedStates can accept their states")
	case x.Unknown != "":
		r.add("DependencyUnknown", nil, "%s", x.Unknown)
	case len(circle) > 0:
		r.add("DependencyNotReady", nil, "its dependencies lead in a circle, over %s of the same directory: the agent "+
			"deploys none of them", strings.Join(circle, ", ")).
			Remedies = advise("remove one of the entries of dependsOn")
	case len(x.Later) > 0:
		r.add("DependencyLater", nil,
			"it depends on %s of the same directory, which is not deployed yet: the agent deploys it "+
				"after that is ready", strings.Join(x.Later, ", "))
	}
}

// circle returns those of its dependencies over which a bundle depends on a circle of bundles of the same directory
// that are not deployed yet. later are all of its dependencies that are not.
func (r *rollout) circle(later []string, siblings []*directory.Deployment) []string {
	if acceptsStates(&r.d.Deployment) {
		return nil
	}
	next := map[string][]string{r.d.Name: later}
	for _, d := range siblings {
		if d.IsOn(r.d.ClusterID) && !acceptsStates(d) {
			next[d.Name] = r.dependencies.Test(d, siblings).Later
		}
	}
	within := func(name string) bool { return next[name] != nil }
	for range next { // a bundle that depends only on bundles outside of a circle is outside too
		maps.DeleteFunc(next, func(_ string, required []string) bool { return !slices.ContainsFunc(required, within) })
	}
	return slices.DeleteFunc(slices.Clone(later), func(name string) bool { return !within(name) })
}

// acceptsStates reports whether a bundle accepts dependencies that are not ready.
func acceptsStates(d *directory.Deployment) bool {
	return slices.ContainsFunc(d.DependsOn(), func(ref v1alpha1.BundleRef) bool { return len(ref.AcceptedStates) > 0 })
}

// recordSize predicts whether Helm can store the release. The limit of the API server is for the decoded data of a
// Secret.
func (r *rollout) recordSize() {
	const limit, margin = corev1.MaxSecretSize, corev1.MaxSecretSize / 50
	size := r.d.Rendering.RecordSize
	rule, risk := ruleOf("RecordTooLarge"), "Helm cannot store it, and every deploy fails"
	switch {
	case size < limit-margin:
		return
	case size <= limit+margin:
		rule.Severity, risk = report.Warning, "it may be too large for Helm to store"
	}
	r.addAs(rule, nil, "its release record would be about %.2f MiB, and the limit of a Secret is 1 MiB: %s "+
		"(\"Too long\")", float64(size)/(1<<20), risk)
}

// names reports names that a version of Fleet does not handle correctly.
func (r *rollout) names() {
	d := r.d
	if fleet.IsAgentBundle(d.Name) && !r.ofAgent() {
		r.add("AgentName", nil, "its name begins with fleet-agent: its objects get the set id of Fleet's agent, and "+
			"Fleet treats it as the agent's bundle")
	}
	release := ""
	if helm := d.Options().Helm; helm != nil {
		release = helm.ReleaseName
	}
	if release == "" {
		release = fleet.HelmReleaseName(d.Name)
		r.garbageCollected(release)
	}
	if d.Options().KeepResources && release != d.Name {
		r.add("KeptRecords", nil,
			"it has keepResources, and its release does not have the name of the bundle: when the bundle is deleted, "+
				"the records of release %s stay", release)
	}
}

// ofAgent reports whether the bundle is the one that Fleet creates for the agent of the cluster.
func (r *rollout) ofAgent() bool {
	_, cluster, _ := strings.Cut(r.d.Cluster, "/")
	return r.d.BD != nil && r.d.GitRepo+r.d.HelmOp == "" && r.d.Name == fleet.SafeConcat(fleet.AgentName, cluster)
}

// garbageCollected reports whether the garbage collection of the agent uninstalls the release, because its generated
// name is not that of the bundle.
func (r *rollout) garbageCollected(release string) {
	agent, known := fleet.ParseVersion(r.d.AgentVersion)
	const uninstalled = "this agent's garbage collection does not find its bundle, and uninstalls it"
	rule, effect := ruleOf("GarbageCollected"), uninstalled
	switch {
	case release == r.d.Name || known && !agent.CollectsByBundleName():
		return
	case !known:
		rule.Severity, effect = report.Warning,
			"agents older than 0.15.6, and 0.16.0, uninstall it again, and the version of this agent is not known"
	}
	r.addAs(rule, nil, "the name of its release is %s, not %s: %s", release, r.d.Name, effect)
}
