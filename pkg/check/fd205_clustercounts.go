// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var clusterCounts = Check{
	Code: "FD205", Name: "ClusterCounts", Severity: Warning,
	Title: "the counts of a Cluster are not the total of its deployments",
	Explain: "Fleet computes them on the heartbeat of the agent and when a deployment is created, is deleted or changes its id or readiness, but not when an object is " +
		"modified or deleted. The counts can be one heartbeat old (15 minutes by default), and old versions of Fleet compute other totals.",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.Tree[state.ClusterKind] {
			in.checkCluster(a, report)
		}
	},
}

func (in *Input) checkCluster(a *evaluate.Aggregate, report func(Finding)) {
	cluster, ok := a.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" || !a.Listed || a.All != len(a.BundleDeployments) || a.All == 0 && !in.Whole {
		return
	}
	s := cluster.Status
	var sum v1alpha1.ResourceCounts
	ready := 0
	for _, d := range a.BundleDeployments {
		counts, known := fleetCounts(d)
		if !known || d.FromFiles() {
			return // a total with an unknown part proves nothing
		}
		sum = sum.Plus(counts)
		if d.BD.Status.Display.State == string(evaluate.Ready) {
			ready++
		}
	}
	f := Finding{Cluster: a.Key(), Remediation: in.Commands.Kubectl + inNamespace(s.Namespace) + " get bundledeployments"}
	if s.Agent.LastSeen != "" {
		f.Evidence = []string{"the agent's last heartbeat was at " + s.Agent.LastSeen}
	}
	compareTotals(a, "cluster ", sum, "its deployments", v1alpha1.Summary{Ready: ready, DesiredReady: a.All}, f, report)
}

// compareTotals reports a finding if the counts in the status of an aggregate are not the total of its parts.
func compareTotals(a *evaluate.Aggregate, kind string, sum v1alpha1.ResourceCounts, parts string, summary v1alpha1.Summary, f Finding, report func(Finding)) {
	r := a.Object.Reported()
	var wrong []string
	if c := r.Counts; c != nil && *c != sum {
		wrong = append(wrong, fmt.Sprintf("reports %d/%d objects ready, the total of %s is %d/%d", c.Ready, c.DesiredReady, parts, sum.Ready, sum.DesiredReady))
	}
	if s := r.Summary; s != nil && (s.Ready != summary.Ready || s.DesiredReady != summary.DesiredReady) {
		wrong = append(wrong, fmt.Sprintf("reports %d/%d bundle deployments ready, the total of %s is %d/%d", s.Ready, s.DesiredReady, parts, summary.Ready, summary.DesiredReady))
	}
	if len(wrong) > 0 {
		f.Object, f.AsOf = Ref(a.Kind, a.Object.GetNamespace(), a.Object.GetName()), r.AsOf
		f.Message, f.Evidence = kind+a.Key()+" "+wrong[0], append(wrong[1:], f.Evidence...)
		report(f)
	}
}

// fleetCounts returns the counts in the status of a bundle deployment. Before Fleet 0.12 there are none; then it returns the counts as the agent
// would compute them: its missing includes unowned objects. known is false if neither is known.
func fleetCounts(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
	if d.BD != nil && d.BD.Status.ResourceCounts != nil {
		return *d.BD.Status.ResourceCounts, true
	}
	c := d.Counts
	if d.Problem != "" || c.Unknown > 0 {
		return v1alpha1.ResourceCounts{}, false
	}
	return v1alpha1.ResourceCounts{DesiredReady: c.Desired, Ready: c.Ready, Missing: c.Missing + c.Unowned,
		Modified: c.Modified, NotReady: c.NotReady, Orphaned: c.Orphaned}, true
}
