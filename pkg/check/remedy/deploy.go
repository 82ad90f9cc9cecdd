// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
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
	ref := facts.Named(state.Bundle, bundle)
	return Run(m.reconcile("bundles", ref), "%s", effect).
		With(m.reconciles(ref, "Fleet's controller processes the Bundle; nothing is deployed"))
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
	if when := m.Facts.Result.Now(); !when.IsZero() {
		return when.Unix()
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

// Maker makes the commands that findings suggest.
type Maker struct {
	Facts *facts.Facts
	// Commands are those of the management cluster, ClusterCommands those of each other cluster that is read.
	Commands        Commands
	ClusterCommands map[object.ClusterID]Commands
}

// On returns the commands for objects on a cluster. They are those of the management cluster if the cluster is not
// read.
func (m *Maker) On(c object.ClusterID) Commands {
	if commands, ok := m.ClusterCommands[c]; ok {
		return commands
	}
	return m.Commands
}

// ShowRole prints the role that the audit needs. For a snapshot that may lack objects, no role helps: it must be
// captured again.
func (m *Maker) ShowRole() Remedy {
	if m.Facts.Result.Source.Partial() {
		return Advise("capture the cluster again: kubectl fleetdoctor snapshot writes what an audit reads")
	}
	return m.Commands.ShowRole()
}

// LogsOfAgent shows why an agent does not report. The agent runs on another cluster than this one, unless it was found
// here.
func (m *Maker) LogsOfAgent(a evaluate.Agent) Remedy {
	if a.Heartbeat.State == agentconfig.Never && a.Cluster.Spec.KubeConfigSecret == "" {
		out := m.Commands.List("clusterregistrations", a.Cluster.Namespace,
			"lists the registrations of agents: one with the clientID of the Cluster must exist, be of this Cluster, "+
				"and be granted")
		out.Command += " -o custom-columns=NAME:.metadata.name,CLIENTID:.spec.clientID,CLUSTER:.status.clusterName," +
			"GRANTED:.status.granted"
		return out
	}
	namespace := cmp.Or(a.Cluster.Status.Agent.Namespace, a.Cluster.Spec.AgentNamespace, "cattle-fleet-system")
	if a.Workload == "" {
		return Advise("read the log of Deployment %s/%s on cluster %s", namespace, fleet.AgentName, a.Cluster.Name)
	}
	if a.Stuck.Why != "" && !a.Stuck.Logs {
		return Run(m.On(a.ClusterID).Kubectl+InNamespace(namespace)+" describe pods -l "+fleet.AgentPods,
			"shows the state and the events of the pods of the agent")
	}
	kubectl := m.On(a.ClusterID).Kubectl + InNamespace(namespace)
	return Run(kubectl+" logs "+strings.ToLower(a.Workload)+"/"+fleet.AgentName,
		"shows the log of the agent")
}

// LogsOf shows why a controller of Fleet does not act.
func (m *Maker) LogsOf(controller string) Remedy {
	namespace := cmp.Or(m.Facts.Result.Desired.Agents.ControllerNamespace, "cattle-fleet-system")
	return Run(m.Commands.Kubectl+InNamespace(namespace)+" logs deployment/"+controller,
		"shows the log of the controller")
}

// Restore writes what is missing of a bundle, or what differs, as it is in its release record. It returns nothing if
// the bundle is being removed, or if the record is not confirmed: who wrote it may have written anything.
func (m *Maker) Restore(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	generated := strings.HasSuffix(o.Name, "-") // it has no name
	uncertain := d.From != desired.FromRelease || !d.Evidence.Confirmed()
	if uncertain || generated || m.removing(d) {
		return nil
	}
	isJob := o.Kind == "Job" && object.Group(o.APIVersion) == "batch"
	switch {
	case o.State == evaluate.Missing && isJob:
		return []Remedy{Make(Step{Kind: StepRecreate, Object: o.Ref},
			"creates the Job again, from the release record; it runs again")}
	case o.State == evaluate.Missing:
		return []Remedy{Make(Step{Kind: StepCreate, Object: o.Ref},
			"creates what is missing of the bundle, from the release record")}
	case o.Live != nil && len(o.Live.Fixed) > 0:
		return []Remedy{Make(Step{Kind: StepRecreate, Object: o.Ref},
			"deletes the object and creates it again, from the release record: fields differ that cannot be changed")}
	}
	return []Remedy{Make(Step{Kind: StepRestore, Object: o.Ref},
		"gives the fields that differ their desired values, from the release record")}
}

// removing reports whether a bundle deployment is being removed from its cluster, or should be.
func (m *Maker) removing(d *evaluate.BundleDeployment) bool {
	if left, _ := m.Facts.LeftOver(d); left {
		return true
	}
	uninstalls := func(p directory.RecordProblem) bool { return p.Status == release.StatusUninstalling }
	deleted := d.BD != nil && facts.Deleting(d.BD)
	return deleted || slices.ContainsFunc(d.RecordProblems, uninstalls)
}

// RestoreOrAccept returns the ways to proceed with a modified object of a bundle.
func (m *Maker) RestoreOrAccept(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	show := m.Commands.ShowDifferences(&d.Deployment)
	if d.FromFiles() {
		return []Remedy{show, m.Commands.Predict(&d.Deployment)}
	}
	options := optionsOf(d)
	revert := Advise("set correctDrift.enabled in %s: Fleet then reverts every change of the bundle's objects "+
		"on all of its clusters", options)
	switch {
	case o.Custom() && dropped(o):
		revert = Advise("apply the definition of the kind that the bundle needs, if the present one does not have " +
			"these fields: an API server drops them from a custom resource")
	case o.Custom():
		revert = replaces(d)
	case facts.Corrects(d) != nil:
		revert = Advise("undo the change where it was made: correctDrift is enabled, and has not reverted it")
	case correctsLater(d):
		revert = Advise("make the deploy succeed: correctDrift is enabled, and reverts the change then")
	}
	accept := m.Commands.Rules(&d.Deployment,
		"to accept, commit the live values, or add the rules that this prints to %s: Fleet then ignores these fields",
		options)
	if o.ChangedOnWrite() {
		return []Remedy{show, accept}
	}
	if helmOverwrites(o) {
		return []Remedy{Advise("remove the label %s from the manifest, or set it to %s: Helm writes it at each deploy",
			fleet.ManagedByLabel, fleet.ManagedByHelm), accept}
	}
	restore := m.Restore(d, o)
	if len(restore) == 0 {
		restore = []Remedy{show}
	}
	return append(restore, revert, accept)
}

// dropped reports whether all fields that differ are missing, and no manager is recorded for them.
func dropped(o *evaluate.Object) bool {
	isThere := func(x evaluate.Difference) bool { return !x.Live.IsZero() || x.Manager != "" }
	return len(o.Differences) > 0 && !slices.ContainsFunc(o.Differences, isThere)
}

// correctsLater reports whether correctDrift is enabled, for a deployment that is not applied now.
func correctsLater(d *evaluate.BundleDeployment) bool {
	return d.BD != nil && d.BD.Spec.CorrectDrift != nil && d.BD.Spec.CorrectDrift.Enabled
}

// optionsOf is what has the options of a bundle.
func optionsOf(d *evaluate.BundleDeployment) string {
	if d.HelmOp != "" {
		return "the HelmOp"
	}
	return "fleet.yaml"
}

// replaces reverts the change of a custom resource. A rollback of Helm leaves it (docs/fleet-behavior.md, 3.6).
func replaces(d *evaluate.BundleDeployment) Remedy {
	if slices.ContainsFunc(d.Desired, func(o *desired.Object) bool { return o.Kind == "PersistentVolumeClaim" }) {
		return Advise("restore it by hand, or move it to a bundle without a PersistentVolumeClaim, and set " +
			"helm.force there: correctDrift does not revert a custom resource, and helm.force cannot replace a bound " +
			"claim")
	}
	return Advise("set helm.force in %s: each deploy then replaces the objects of the bundle; correctDrift does not "+
		"revert a custom resource, because Helm patches it only where its manifest changes", optionsOf(d))
}

// Correct returns the ways to revert a modified object that correctDrift has not reverted.
func (m *Maker) Correct(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	if o.Custom() {
		return append(m.Restore(d, o), replaces(d))
	}
	return m.Redeploy(d)
}

// helmOverwrites reports whether an object differs only in the label that Helm itself writes at each deploy: neither a
// restored object nor a corrected one stays.
func helmOverwrites(o *evaluate.Object) bool {
	return len(o.Differences) == 1 && o.Differences[0].HelmWrites()
}
