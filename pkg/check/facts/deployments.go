// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/targeting"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// LeftOver reports whether the targets of its bundle do not expect a bundle deployment; certain is false if that is not
// known, or if Fleet may still have to delete it.
func (f *Facts) LeftOver(d *evaluate.BundleDeployment) (left, certain bool) {
	b, c := f.Bundle(d.Bundle), f.ClusterIn(d.Namespace)
	if b == nil || c == nil || d.BD == nil {
		return false, false
	}
	// Fleet writes no bundle without targets, so a capture may have left them out.
	if Deleting(d.BD) || d.Name != b.Name || len(b.Spec.Targets) == 0 {
		return false, false
	}
	switch r, ok := f.Targets(b).On(c.Namespace, c.Name); {
	case !ok || r.Outcome == targeting.Unknown:
		return false, false
	case r.Outcome != targeting.Excluded:
		return false, true
	}
	if Deleting(b) || Deleting(c) {
		return true, false
	}
	return true, Observed(b) && !f.Young(d.BD)
}

// Pauses returns what pauses a bundle deployment: its GitRepo, its Bundle or its Cluster; ok is false if none of them
// that were read does.
func (f *Facts) Pauses(d *directory.Deployment) (r object.Ref, ok bool) {
	if b := f.Bundle(d.Bundle); b != nil && b.Spec.Paused {
		for _, g := range f.Result.Desired.GitRepos {
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

// Controller is the version of the controller, which writes the Secrets.
func (f *Facts) Controller() values.Controller {
	return values.ControllerOf(f.Result.Desired.ControllerVersion)
}

// ValuesOf returns the state of the values Secret of a BundleDeployment.
func (f *Facts) ValuesOf(d *directory.Deployment) (values.Facts, values.Result) {
	of := f.Result.Desired.Values.Facts(state.DeploymentKey(d.BD), state.DeploymentOwner(d.BD, f.Bundle(d.Bundle)))
	return of, values.Classify(of, f.Result.Now(), f.Controller())
}

// LostValues reports whether a bundle deployment has staged values and no current ones: a deploy of the same deployment
// id would install the defaults of the chart.
func (f *Facts) LostValues(d *evaluate.BundleDeployment) bool {
	of, _ := f.ValuesOf(&d.Deployment)
	return of.Secret != nil && of.Secret.Emptied && of.Owner.Current
}

// BlocksHelm reports whether a pending or uninstalled revision makes Helm refuse every deploy, and the agent does not
// resolve that by itself (docs/fleet-behavior.md, 1.7).
func (f *Facts) BlocksHelm(d *directory.Deployment, t directory.RecordProblem) bool {
	if t.Status == "uninstalled" {
		return true
	}
	if !d.Placed || !pending(t) {
		return false
	}
	if t.Predecessor || f.InProgress(d, t) {
		return false
	}
	agent, known := fleet.ParseVersion(d.AgentVersion)
	if agent.Minor == 14 {
		return known && agent.Before(14, 4)
	}
	return known && agent.Before(13, 10)
}

// InProgress reports whether a live cluster has a pending revision that is so young that it is that of a deploy in
// progress. In a capture it can as well be one that was interrupted, and nobody can read it again.
func (f *Facts) InProgress(d *directory.Deployment, t directory.RecordProblem) bool {
	if !pending(t) || t.Since.IsZero() {
		return false
	}
	return f.sourceOf(d.ClusterID).Source.Live() && !f.LongAgo(t.Since)
}

func pending(t directory.RecordProblem) bool { return strings.HasPrefix(t.Status, "pending-") }
