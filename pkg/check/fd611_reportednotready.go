// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// reportedNotReady reports each object that the status of a bundle deployment lists, if only the status is known. FD604
// reports what is not applied.
func (in *Input) reportedNotReady(out *found, d *evaluate.BundleDeployment) {
	if d.BD == nil || facts.Deleting(d.BD) || !in.onlyReported(d) {
		return
	}
	s := fleet.ReportedState(d.BD)
	if s != fleet.Modified && s != fleet.NotReady {
		return
	}
	next := remedy.Advise("audit the clusters too, each alone or together with the management cluster, with the " +
		"right to read release records")
	listed := in.listed(&d.Deployment)
	if len(listed) == 0 && statesNotReady(d.BD) {
		f := onDeployment(d, "Fleet reports %s as %s", d.Key(), s)
		f.Message += in.Facts.SaidOf(&d.Deployment, "Ready")
		out.report(f, next)
	}
	redeploy := in.redeploysListed(out, d, next)
	for _, o := range listed {
		f := about(d, o.Ref, "%s", o.Message+o.Said)
		f.Aspect, f.AsOf = string(o.State), d.BD.Reported().AsOf
		if lists := in.truncation(d); lists != "" {
			f.Message += "; it " + lists
		}
		if o.State == evaluate.NotReady {
			out.report(f, next)
			continue
		}
		out.report(f, redeploy...)
	}
}

// redeploysListed are the ways to proceed if a cluster that is not read has other objects than its bundle: its agent
// deploys the bundle again. next is to read the cluster.
func (in *Input) redeploysListed(out *found, d *evaluate.BundleDeployment, next remedy.Remedy) []remedy.Remedy {
	notRead := !in.Result.StatusOnly && d.Problem == directory.ClusterNotRead
	if left, _ := in.Facts.LeftOver(d); left || !notRead || !facts.Applied(d) {
		return only(next)
	}
	return []remedy.Remedy{in.Steps.Redeploy(d)[0], next}
}

// statesNotReady reports whether a status that lists no object states that it is not ready: an empty one states
// nothing, and FD604 has the reason of a refused installation.
func statesNotReady(bd *v1alpha1.BundleDeployment) bool {
	ready := facts.ConditionOf(bd.Status.Conditions, "Ready").Status
	states := bd.Status.Display.State != "" || ready == "False"
	return states && facts.ConditionOf(bd.Status.Conditions, "Installed").Status != "False"
}

// onlyReported reports whether only the status of a bundle deployment is known.
func (in *Input) onlyReported(d *evaluate.BundleDeployment) bool {
	return in.Result.StatusOnly || d.Problem == directory.ClusterNotRead || d.Problem == directory.RecordsForbidden
}
