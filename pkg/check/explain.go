// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// The explanation of an object uses the rules of the checks, for objects that need not be in scope.

// TargetError returns the finding that the targets of a Bundle have an error that stops all of its clusters.
func (in *Input) TargetError(b *v1alpha1.Bundle) (Finding, bool) {
	f, ok := in.targetError(b)
	f.Code, f.Object = targetError.Code, Ref(state.Bundle, b.Namespace, b.Name)
	return f, ok
}

// Failed reports whether the controller could not process a Bundle.
func Failed(b *v1alpha1.Bundle) bool {
	_, failed := bundleError(b)
	return failed
}

// Observed reports whether the controller has processed the present spec of a Bundle.
func Observed(b *v1alpha1.Bundle) bool { return observed(b) }

// UnresolvedChart reports whether the chart version of the Bundle of a HelmOp is not an exact version: Fleet does not deploy it then.
func UnresolvedChart(b *v1alpha1.Bundle) bool { return unresolvedChart(b) }

// Behind returns in what a GitRepo is behind, as sentences (FD605).
func (in *Input) Behind(g *v1alpha1.GitRepo) []string {
	if g.Spec.Paused || deleting(g) || g.Spec.Repo == "" || in.Now().IsZero() {
		return nil
	}
	var out []string
	for _, x := range in.behind(g, in.commits()[key(g)]) {
		out = append(out, x.message)
	}
	return out
}

// CodeNotFollowed is the code of the findings that Behind returns.
const CodeNotFollowed = "FD605"

// Inspect shows the conditions and events of an object of Fleet.
func (m *Maker) Inspect(r object.Ref) []Remedy { return []Remedy{m.Commands.describe(r)} }

// List lists the objects of Fleet of a kind, by the plural name.
func (m *Maker) List(resource, namespace string) []Remedy {
	return []Remedy{m.Commands.list(resource, namespace, "lists the "+resource+" of the namespace")}
}

// StartJob makes Fleet deploy every bundle of a GitRepo again.
func (m *Maker) StartJob(g *v1alpha1.GitRepo) []Remedy {
	return []Remedy{m.startJob(key(g), g.Spec.ForceSyncGeneration+1)}
}

// Resume continues a GitRepo, Bundle or Cluster that is paused.
func (m *Maker) Resume(r object.Ref) []Remedy { return []Remedy{m.resume(r)} }

// ExplainTargets explains which clusters the targets of a bundle select.
func (m *Maker) ExplainTargets(b *v1alpha1.Bundle) []Remedy {
	return []Remedy{m.Commands.explainTargets(b)}
}

// ShowDifferences audits the bundle of a deployment, and shows every field that differs.
func (m *Maker) ShowDifferences(d *directory.Deployment) []Remedy {
	return []Remedy{m.Commands.showDifferences(d)}
}

// AgentLogs shows why an agent does not report.
func (m *Maker) AgentLogs(a evaluate.Agent) []Remedy { return []Remedy{m.logsOfAgent(a)} }

// PrintRole prints the role that the audit needs. For a snapshot that may lack objects, no role helps: it must be
// captured again.
func (m *Maker) PrintRole() []Remedy {
	if m.Source.Partial() {
		return []Remedy{advise("capture the cluster again: kubectl fleetdoctor snapshot writes what an audit reads")}
	}
	return []Remedy{m.Commands.printRole()}
}

// Pauses returns what pauses a bundle deployment: its GitRepo, its Bundle or its Cluster; ok is false if none of them that were read does.
func (f *Facts) Pauses(d *directory.Deployment) (r object.Ref, ok bool) {
	if b := f.Bundle(d.Bundle); b != nil && b.Spec.Paused {
		for _, g := range f.Desired.GitRepos {
			if g.Spec.Paused && g.Namespace == b.Namespace && g.Name == b.Labels[fleet.RepoLabel] {
				return Ref(state.GitRepo, g.Namespace, g.Name), true
			}
		}
		return Ref(state.Bundle, b.Namespace, b.Name), true
	}
	if c := f.ClusterIn(d.Namespace); c != nil && c.Spec.Paused {
		return Ref(state.ClusterKind, c.Namespace, c.Name), true
	}
	return object.Ref{}, false
}

// Contents reports whether the contents that are staged in a BundleDeployment are those of its Bundle; true if that is not known.
func Contents(b *v1alpha1.Bundle, bd *v1alpha1.BundleDeployment) bool {
	sum := b.Status.ResourcesSHA256Sum
	staged, _, _ := strings.Cut(bd.Spec.StagedDeploymentID, ":")
	if !observed(b) || sum == "" || bd.Spec.OCIContents || len(bd.Spec.HelmChartOptions) > 0 || !strings.HasPrefix(staged, "s-") {
		return true
	}
	return staged == fleet.ManifestID(sum)
}

// Stuck returns a function that says why an object of Fleet that is being deleted stays, as a sentence with evidence.
func (in *Input) Stuck() func(kind, key string) (message string, evidence []string) {
	of := map[[2]string]*state.Deleting{}
	all, children := in.Desired.Deleting(), in.children()
	for i := range all {
		of[[2]string{all[i].Kind, all[i].Namespace + "/" + all[i].Name}] = &all[i]
	}
	return func(kind, key string) (string, []string) {
		o := of[[2]string{kind, key}]
		if o == nil || len(o.Finalizers) == 0 {
			return "it is being deleted", nil
		}
		return "it is being deleted, and has the finalizers " + strings.Join(o.Finalizers, ", "), in.stuck(o, children[[2]string{kind, key}]).Evidence
	}
}
