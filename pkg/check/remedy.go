// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/resolve"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Remedy is one way to proceed after a finding.
type Remedy struct {
	// Text is a sentence: the effect of the command, or what to do if there is no command.
	Text string
	// Command is one command line for a shell. It can be run as it is, unless it has a placeholder (Commands).
	Command string
	// URL is the address of a page that explains the finding. Run sets it.
	URL string
}

// Pages is the address of the directory docs/.
const Pages = "https://github.com/fleetdoctor/kubectl-fleetdoctor/blob/main/docs/"

// documentation is the page that explains the findings. It has an anchor for each code.
const documentation = Pages + "findings.md"

// URL returns the address of the explanation of a code.
func URL(code string) string { return documentation + "#" + Anchor(code) }

// Anchor is the anchor of a code in that page.
func Anchor(code string) string { return strings.ToLower(code) }

// run is a command with its effect.
func run(command, effect string, args ...any) Remedy {
	return Remedy{Command: command, Text: fmt.Sprintf(effect, args...)}
}

// advise is a remedy without a command.
func advise(format string, args ...any) Remedy { return Remedy{Text: fmt.Sprintf(format, args...)} }

// describe shows the conditions and events of an object.
func (c Commands) describe(r object.Ref) Remedy {
	return run(c.kubectl(r)+" describe "+kubectlName(r), "shows its conditions and events")
}

// show prints an object.
func (c Commands) show(r object.Ref, effect string) Remedy {
	return run(c.kubectl(r)+" get "+kubectlName(r)+" -o yaml", "%s", effect)
}

// list prints the objects of Fleet of a kind, by the plural name.
func (c Commands) list(resource, namespace, effect string) Remedy {
	return run(c.Kubectl+inNamespace(namespace)+" get "+resource+"."+v1alpha1.GroupVersion.Group, "%s", effect)
}

// showSecret prints a Secret without its values.
func (c Commands) showSecret(r object.Ref) Remedy {
	return run(c.kubectl(r)+" get "+named("secret", r.Name)+" --show-labels", "shows the type and the labels of the Secret, and no value")
}

// History lists the revisions of a release.
func (c Commands) History(n release.Name) Remedy {
	return run(c.Helm+inNamespace(n.Namespace)+" history "+lastArgument(n.Name), "lists the revisions of the release with their states")
}

// explainTargets explains which clusters the targets of a bundle select.
func (c Commands) explainTargets(b *v1alpha1.Bundle) Remedy {
	return run(c.Targets+" "+escape.Shell("bundle/"+b.Name)+inNamespace(b.Namespace), "shows which target selects each cluster, or why none does")
}

// printRole prints the role that the audit needs.
func (c Commands) printRole() Remedy {
	return run(c.PrintRole, "prints the role that the audit needs, and applies nothing")
}

// predict predicts the problems of a deploy.
func (c Commands) predict(d *directory.Deployment) Remedy {
	return run(c.Preflight+" "+c.BundleArgs(d), "predicts what a deploy changes and what refuses it, and writes nothing")
}

// Assign plans to assign the objects of a bundle to it.
func (c Commands) Assign(d *directory.Deployment) Remedy {
	return run(c.Adopt+" "+c.BundleArgs(d), "shows which labels and annotations change; asks before it writes")
}

// showDifferences shows every field that differs.
func (c Commands) showDifferences(d *directory.Deployment) Remedy {
	return run(c.Audit+" "+c.BundleArgs(d)+" --diff", "shows the desired and the live value of each field")
}

// why shows the chain of causes for which a bundle is not ready.
func (c Commands) why(d *directory.Deployment) Remedy {
	return run(c.Why+" "+c.BundleArgs(d), "shows the chain of causes, and the next step at its end")
}

// restore writes exactly one object again, as it is in its release record. It returns nothing if the bundle is being
// removed, or if the manifest does not have the object in a document of its own, with its name.
func (m *Maker) restore(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	if !inDocument(d, o) || m.removing(d) {
		return nil
	}
	on, r := m.on(d.On), d.Release
	// The manifest does not have Helm's label and annotations: without them, the same field manager would remove them.
	// With another field manager, Helm would refuse a later deploy that changes the same fields.
	marks, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"labels":      map[string]string{fleet.ManagedByLabel: fleet.ManagedByHelm},
		"annotations": map[string]string{fleet.ReleaseNameAnnotation: r.Name, fleet.ReleaseNamespaceAnnotation: r.Namespace},
	}})
	if err != nil {
		return nil
	}
	helm := on.Helm + inNamespace(r.Namespace)
	command := fmt.Sprintf("%s get manifest --revision=%d %s", helm, r.Revision, lastArgument(r.Name)) +
		fmt.Sprintf(" | awk '/^---/{n++} n==%d'", o.Document) +
		" | kubectl patch --local --type=merge -o=yaml -f=- -p=" + escape.Shell(string(marks)) +
		" | " + on.kubectl(o.Ref) + " apply --server-side --force-conflicts --field-manager=" + fleet.AgentManager + " -f -"
	return []Remedy{run(command, "restores only %s, from the release record", o.Key())}
}

// inDocument reports whether the manifest of a release record has an object, with its name, in a document of its own.
func inDocument(d *evaluate.BundleDeployment, o *evaluate.Object) bool {
	if d.From != resolve.FromRelease || o.Document == 0 {
		return false
	}
	generated := strings.HasSuffix(o.Name, "-")
	return o.Alone && !generated
}

// removing reports whether a bundle deployment is being removed from its cluster, or should be.
func (m *Maker) removing(d *evaluate.BundleDeployment) bool {
	if left, _ := m.leftOver(d); left {
		return true
	}
	uninstalls := func(p directory.RecordProblem) bool { return p.Status == release.StatusUninstalling }
	deleted := d.BD != nil && deleting(d.BD)
	return deleted || slices.ContainsFunc(d.RecordProblems, uninstalls)
}

// redeploy makes Fleet deploy a bundle again: on the cluster of a bundle deployment, or on all clusters of the bundle.
func (m *Maker) redeploy(d *evaluate.BundleDeployment) []Remedy {
	if d.BD != nil && deleting(d.BD) {
		return []Remedy{advise("do not deploy it again: BundleDeployment %s is being deleted", d.Key())}
	}
	if left, _ := m.leftOver(d); left {
		return []Remedy{m.Commands.explainTargets(m.Bundle(d.Bundle))}
	}
	out := []Remedy{m.redeployBundle(d)}
	if d.BD == nil {
		return out
	}
	if d.BD.Spec.DeploymentID != "" && d.BD.Spec.DeploymentID == d.BD.Status.AppliedDeploymentID && !m.lostValues(d) {
		here := m.redeployHere(d)
		if out[0].Command == "" || m.DeploymentsOf(d.Bundle) < 2 {
			out = nil
		}
		out = append([]Remedy{here}, out...)
	}
	if out[0].Command != "" && m.mayBeRefused(d) {
		out = append([]Remedy{m.Commands.predict(&d.Deployment)}, out...)
	}
	if d.BD.Spec.OffSchedule {
		out = append([]Remedy{advise("wait for the schedule of the cluster: its agent deploys nothing outside of it")}, out...)
	}
	if !d.BD.Spec.Paused {
		return out
	}
	r, ok := m.Pauses(&d.Deployment)
	if !ok {
		return append([]Remedy{advise("resume the bundle first: its agent deploys nothing while it is paused")}, out...)
	}
	return append([]Remedy{m.resume(r)}, out...)
}

// mayBeRefused reports whether Helm may refuse a deploy: it refuses to change a field that another field manager owns,
// an object of a kind that is not served, and any deploy after a pending one.
func (m *Maker) mayBeRefused(d *evaluate.BundleDeployment) bool {
	blocks := func(p directory.RecordProblem) bool { return m.blocksHelm(&d.Deployment, p) }
	return d.Counts.Modified > 0 || d.Counts.Unknown > 0 || slices.ContainsFunc(d.RecordProblems, blocks)
}

// redeployHere makes one agent deploy a bundle again. Fleet's controller writes the spec of a BundleDeployment, but not this field
// (docs/fleet-behavior.md, 4.10).
func (m *Maker) redeployHere(d *evaluate.BundleDeployment) Remedy {
	effect := "deploys the bundle again only on one cluster"
	if d.Cluster != "" {
		effect = "deploys the bundle again only on cluster " + d.Cluster
	}
	if m.silent(m.ClusterIn(d.Namespace)) {
		effect += "; the agent is silent now and deploys the bundle when it reports again"
	}
	return run(m.Commands.kubectl(d.Ref())+" patch "+kubectlName(d.Ref())+" --subresource=status --type=merge -p '{\"status\":{\"appliedDeploymentID\":\"\"}}'",
		"%s; preflight predicts whether Helm refuses it", effect)
}

// redeployBundle makes all agents of a bundle deploy it again. It has no command if nothing is known that would do that.
func (m *Maker) redeployBundle(d *evaluate.BundleDeployment) Remedy {
	workspace, name, _ := strings.Cut(d.Bundle, "/")
	ref := Ref(state.Bundle, workspace, name)
	switch {
	case d.BD == nil:
		return advise("deploy the bundle again, from the management cluster")
	case d.Bundle == "" && d.GitRepo != "":
		return m.startJob(d.GitRepo, m.nextGeneration(d))
	case d.Bundle == "", m.Bundle(d.Bundle) == nil && m.read(state.Bundle, workspace):
		return advise("restore the Bundle of the BundleDeployment, so that Fleet can deploy it again")
	}
	effect := "deploys bundle " + d.Bundle + " again on all of its clusters; preflight predicts where Helm refuses it"
	switch {
	case d.HelmOp != "":
		_, name, _ = strings.Cut(d.HelmOp, "/")
		ref = Ref(state.HelmOp, workspace, name) // its controller overwrites the Bundle
	case d.GitRepo != "":
		effect += ". The next commit of its GitRepo deploys it once more"
	}
	return run(m.forceSync(ref, m.nextGeneration(d)), "%s", effect)
}

// forceSync returns the command that sets a new forceSyncGeneration of a GitRepo, HelmOp or Bundle.
func (m *Maker) forceSync(r object.Ref, generation int64) string {
	return fmt.Sprintf("%s patch %s --type=merge -p '{\"spec\":{\"forceSyncGeneration\":%d}}'", m.Commands.kubectl(r), kubectlName(r), generation)
}

// startJob makes the job of a GitRepo ("namespace/name") write its Bundles again.
func (m *Maker) startJob(repo string, generation int64) Remedy {
	namespace, name, _ := strings.Cut(repo, "/")
	return run(m.forceSync(Ref(state.GitRepo, namespace, name), generation),
		"writes the bundles of GitRepo %s again, and deploys all of them again, on all of their clusters; preflight predicts where Helm refuses it", repo)
}

// process makes the controller process a Bundle, without a deploy.
func (m *Maker) process(bundle, effect string) Remedy {
	namespace, name, _ := strings.Cut(bundle, "/")
	return run(m.processCommand(namespace, name), "%s", effect)
}

func (m *Maker) processCommand(namespace, name string) string {
	var now int64
	if at := m.Now(); !at.IsZero() {
		now = at.Unix()
	}
	return fmt.Sprintf("%s%s annotate %s --overwrite fleetdoctor.io/reconcile=%d",
		m.Commands.Kubectl, inNamespace(namespace), named("bundles.fleet.cattle.io", name), now)
}

// resume continues a GitRepo, Bundle or Cluster that is paused.
func (m *Maker) resume(r object.Ref) Remedy {
	return run(m.Commands.kubectl(r)+" patch "+kubectlName(r)+" --type=merge -p '{\"spec\":{\"paused\":false}}'",
		"resumes %s %s: the agents deploy all changes that have waited", r.Kind, r.Namespace+"/"+r.Name)
}

// restoreOrAccept returns the ways to proceed with a modified object of a bundle.
func (m *Maker) restoreOrAccept(d *evaluate.BundleDeployment, o *evaluate.Object) []Remedy {
	show := m.Commands.showDifferences(&d.Deployment)
	if d.FromFiles() {
		return []Remedy{show, m.Commands.predict(&d.Deployment)}
	}
	options := "fleet.yaml"
	if d.HelmOp != "" {
		options = "the HelmOp"
	}
	revert := advise("set correctDrift.enabled in %s: Fleet then reverts every change of the bundle's objects "+
		"on all of its clusters", options)
	if corrects(d) != nil {
		revert = advise("undo the change where it was made: correctDrift is enabled, and has not reverted it")
	}
	accept := run(m.Commands.Audit+" "+m.Commands.BundleArgs(&d.Deployment)+" -o compare-patches",
		"to accept, commit the live values, or add the rules that this prints to %s: Fleet then ignores these fields",
		options)
	return slices.Concat([]Remedy{show}, m.restore(d, o), []Remedy{revert, accept})
}
