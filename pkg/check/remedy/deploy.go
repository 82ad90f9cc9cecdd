// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Redeploy makes Fleet deploy a bundle again: on the cluster of a bundle deployment, or on all clusters of the bundle.
func (m *Maker) Redeploy(d *evaluate.BundleDeployment) []Remedy {
	if d.BD != nil && facts.Deleting(d.BD) {
		return []Remedy{Advise("do not deploy it again: BundleDeployment %s is being deleted", d.Key())}
	}
	if left, _ := m.Facts.LeftOver(d); left {
		return []Remedy{m.Commands.ExplainTargets(m.Facts.Bundle(d.Bundle))}
	}
	deploys := []Remedy{m.RedeployBundle(d)}
	if d.BD == nil {
		return deploys
	}
	var out []Remedy
	if d.BD.Spec.Paused {
		out = append(out, m.resume(d))
	}
	if d.BD.Spec.OffSchedule {
		out = append(out, Advise("wait for the schedule of the cluster: its agent deploys nothing outside of it"))
	}
	applied := d.BD.Spec.DeploymentID != "" && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID
	if applied && !m.Facts.LostValues(d) {
		if deploys[0].Command == "" || m.Facts.DeploymentsOf(d.Bundle) < 2 {
			deploys = nil
		}
		deploys = append([]Remedy{m.redeployHere(d)}, deploys...)
	}
	if deploys[0].Command != "" && m.mayBeRefused(d) {
		out = append(out, m.Commands.Predict(&d.Deployment))
	}
	return append(out, deploys...)
}

// RedeployBundle makes all agents of a bundle deploy it again. It has no command if nothing is known that would do
// that.
func (m *Maker) RedeployBundle(d *evaluate.BundleDeployment) Remedy {
	ref := facts.Named(state.Bundle, d.Bundle)
	switch {
	case d.BD == nil:
		return Advise("deploy the bundle again, from the management cluster")
	case d.Bundle == "" && d.GitRepo != "":
		return m.StartJob(d.GitRepo, m.nextGeneration(d))
	case d.Bundle == "", m.Facts.Bundle(d.Bundle) == nil && m.Facts.Read(state.Bundle, ref.Namespace):
		return Advise("restore the Bundle of the BundleDeployment, so that Fleet can deploy it again")
	}
	effect := "deploys bundle " + d.Bundle + " again on all of its clusters; preflight predicts where Helm refuses it"
	switch {
	case d.HelmOp != "":
		ref = facts.Named(state.HelmOp, d.HelmOp) // its controller overwrites the Bundle
	case d.GitRepo != "":
		effect += ". The next commit of its GitRepo deploys it once more"
	}
	return m.forceSync(ref, m.nextGeneration(d), effect)
}

// redeployHere makes one agent deploy a bundle again. Fleet's controller writes the spec of a BundleDeployment, but not
// this field (docs/fleet-behavior.md, 4.10).
func (m *Maker) redeployHere(d *evaluate.BundleDeployment) Remedy {
	effect := "deploys the bundle again only on one cluster"
	if d.Cluster != "" {
		effect = "deploys the bundle again only on cluster " + d.Cluster
	}
	if m.Facts.Silent(m.Facts.ClusterIn(d.Namespace)) {
		effect += "; the agent is silent now and deploys the bundle when it reports again"
	}
	const change = `{"status":{"appliedDeploymentID":""}}`
	return Run(m.patch(d.Ref(), " --subresource=status", change), "%s; preflight predicts whether Helm refuses it",
		effect).With(Step{Kind: StepDeploy, Object: d.Ref(), Patch: change, Subresource: "status"})
}

// Release lets the rollout of a bundle go on, with a limit of so many unavailable clusters.
func (m *Maker) Release(bundle string, limit int) Remedy {
	change := fmt.Sprintf(`{"spec":{"rolloutStrategy":{"maxUnavailable":%d}}}`, limit)
	return Run(m.patch(facts.Named(state.Bundle, bundle), "", change), "lets the rollout go on, until the Bundle is "+
		"written again; rolloutStrategy.maxUnavailable in the fleet.yaml is the limit for later commits")
}

// patch returns the command that changes an object.
func (m *Maker) patch(r object.Ref, flags, change string) string {
	return m.Commands.For(r) + " patch " + KubectlName(r) + flags + " --type=merge -p '" + change + "'"
}

// mayBeRefused reports whether Helm may refuse a deploy: it refuses to change a field that another field manager owns,
// an object of a kind that is not served, and any deploy after a pending one.
func (m *Maker) mayBeRefused(d *evaluate.BundleDeployment) bool {
	blocks := func(p directory.RecordProblem) bool { return m.Facts.BlocksHelm(&d.Deployment, p) }
	return d.Counts.Modified > 0 || d.Counts.Unknown > 0 || slices.ContainsFunc(d.RecordProblems, blocks)
}

// nextGeneration is a forceSyncGeneration that neither the deployment's GitRepo nor the deployment itself has had.
func (m *Maker) nextGeneration(d *evaluate.BundleDeployment) int64 {
	var last int64
	if d.BD != nil {
		last = d.BD.Spec.Options.ForceSyncGeneration
	}
	if g := m.Facts.GitRepo(d.GitRepo); g != nil {
		last = max(last, g.Spec.ForceSyncGeneration)
	}
	return last + 1
}

// forceSync sets a new forceSyncGeneration of a GitRepo, HelmOp or Bundle.
func (m *Maker) forceSync(r object.Ref, generation int64, effect string) Remedy {
	change := fmt.Sprintf(`{"spec":{"forceSyncGeneration":%d}}`, generation)
	return Run(m.patch(r, "", change), "%s", effect).With(Step{Kind: StepDeploy, Object: r, Patch: change,
		Effect: effect})
}

// StartJob makes the job of a GitRepo ("namespace/name") write its Bundles again.
func (m *Maker) StartJob(repo string, generation int64) Remedy {
	return m.forceSync(facts.Named(state.GitRepo, repo), generation, "writes the bundles of GitRepo "+repo+
		" again, and deploys all of them again, on all of their clusters; preflight predicts where Helm refuses it")
}

// Process makes the controller process a Bundle ("namespace/name"), without a deploy.
func (m *Maker) Process(bundle, effect string) Remedy {
	return Run(m.ProcessCommand(bundle), "%s", effect).
		With(m.reconciles(facts.Named(state.Bundle, bundle), "Fleet's controller processes the Bundle; nothing is "+
			"deployed"))
}

// ProcessCommand returns the command of Process.
func (m *Maker) ProcessCommand(bundle string) string {
	return m.reconcile("bundles", facts.Named(state.Bundle, bundle))
}

// TryNow makes an agent try a deploy again that failed. It does that by itself too, after growing pauses.
func (m *Maker) TryNow(d *directory.Deployment) Remedy {
	return Run(m.reconcile("bundledeployments", d.Ref()), "makes its agent try again now, once the cause is gone; by "+
		"itself, it may wait for some minutes").With(m.reconciles(d.Ref(), "its agent tries to deploy it again"))
}

// reconciles is the step of reconcile.
func (m *Maker) reconciles(ref object.Ref, effect string) Step {
	return Step{Kind: StepDeploy, Object: ref, Effect: effect,
		Patch: fmt.Sprintf(`{"metadata":{"annotations":{"fleetdoctor.io/reconcile":"%d"}}}`, m.moment())}
}

// moment is a number that no earlier command has: the time when the data was read, in seconds.
func (m *Maker) moment() int64 {
	if at := m.Facts.Result.Now(); !at.IsZero() {
		return at.Unix()
	}
	return 0
}

// reconcile returns the command that makes a controller process an object of Fleet, by the plural name of its kind.
func (m *Maker) reconcile(resource string, ref object.Ref) string {
	return fmt.Sprintf("%s annotate %s --overwrite fleetdoctor.io/reconcile=%d", m.Commands.For(ref),
		Named(resource+".fleet.cattle.io", ref.Name), m.moment())
}

// resume continues what pauses a bundle deployment.
func (m *Maker) resume(d *evaluate.BundleDeployment) Remedy {
	r, ok := m.Facts.Pauses(&d.Deployment)
	if !ok {
		return Advise("resume the bundle first: its agent deploys nothing while it is paused")
	}
	return m.Resume(r)
}

// Resume continues a GitRepo, Bundle or Cluster that is paused.
func (m *Maker) Resume(r object.Ref) Remedy {
	effect := "resumes %s %s: the agents deploy all changes that have waited"
	if r.Kind == state.Bundle {
		effect += "; paused in the fleet.yaml pauses it again with the next commit"
	}
	const change = `{"spec":{"paused":false}}`
	return Run(m.patch(r, "", change), effect, r.Kind, r.Namespace+"/"+r.Name).
		With(Step{Kind: StepResume, Object: r, Patch: change,
			Effect: "the agents deploy all changes that have waited"})
}
