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
	Title: "a Cluster's counts are not the sum of its deployments",
	Explain: "Fleet sums them up on the agent's heartbeat and when a deployment comes, goes or changes its id or readiness, not when an object is modified or " +
		"goes missing: the numbers can be old by one heartbeat (15 minutes by default), and old Fleets sum up something else.",
	run: func(in *Input) []Finding {
		var out []Finding
		for _, a := range in.Tree[state.ClusterKind] {
			if f := in.clusterSum(a); f != nil {
				out = append(out, *f)
			}
		}
		return out
	},
}

func (in *Input) clusterSum(a *evaluate.Aggregate) *Finding {
	cluster, ok := a.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Namespace == "" || !a.Listed || a.All != len(a.BundleDeployments) || a.All == 0 && !in.Whole {
		return nil
	}
	var sum v1alpha1.ResourceCounts
	ready := 0
	for _, d := range a.BundleDeployments {
		counts, known := inFleetsTerms(d)
		if !known || d.FromFiles() {
			return nil // a sum with an unknown part proves nothing
		}
		sum = sum.Plus(counts)
		if d.BD.Status.Display.State == string(evaluate.Ready) {
			ready++
		}
	}
	s := cluster.Status
	wrong := wrongSums(a.Object.Reported(), sum, "its deployments sum up to", v1alpha1.Summary{Ready: ready, DesiredReady: a.All}, "they say")
	if len(wrong) == 0 {
		return nil
	}
	f := &Finding{
		Object: Ref(a.Kind, cluster.Namespace, cluster.Name), Cluster: a.Key(),
		Message: "cluster " + a.Key() + " " + wrong[0], Evidence: wrong[1:], AsOf: s.Agent.LastSeen,
		Remediation: in.Commands.Kubectl + inNamespace(s.Namespace) + " get bundledeployments",
	}
	if s.Agent.LastSeen != "" {
		f.Evidence = append(f.Evidence, "the agent's last heartbeat was at "+s.Agent.LastSeen)
	}
	return f
}

// wrongSums says in which of its numbers a status differs from what it sums up.
func wrongSums(r v1alpha1.Reported, sum v1alpha1.ResourceCounts, objects string, summary v1alpha1.Summary, deployments string) []string {
	var out []string
	if c := r.Counts; c != nil && *c != sum {
		out = append(out, fmt.Sprintf("says %d/%d objects ready, %s %d/%d", c.Ready, c.DesiredReady, objects, sum.Ready, sum.DesiredReady))
	}
	if s := r.Summary; s != nil && (s.Ready != summary.Ready || s.DesiredReady != summary.DesiredReady) {
		out = append(out, fmt.Sprintf("says %d/%d bundle deployments ready, %s %d/%d", s.Ready, s.DesiredReady, deployments, summary.Ready, summary.DesiredReady))
	}
	return out
}

// inFleetsTerms returns the counts of a bundle deployment as its own status has them, or, before Fleet 0.12, as its agent would count them: its
// missing includes what is called unowned here. known is false where neither is known.
func inFleetsTerms(d *evaluate.BundleDeployment) (counts v1alpha1.ResourceCounts, known bool) {
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
