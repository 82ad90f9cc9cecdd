// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

var clusterCounts = Check{
	Code: "FD205", Name: "ClusterCounts", Severity: report.Warning,
	Title: "a Cluster's counts are not the sum of its deployments",
	Explain: "Fleet sums them up on the agent's heartbeat and when a deployment comes, goes or changes its id or readiness, not when an object is modified or " +
		"goes missing: the numbers can be old by one heartbeat (15 minutes by default), and old Fleets sum up something else.",
	run: func(c *Case) []report.Finding {
		var out []report.Finding
		for _, cl := range c.Inventory.Clusters {
			if !c.covers(cl) {
				continue
			}
			if f := clusterSum(c, cl); f != nil {
				out = append(out, *f)
			}
		}
		return out
	},
}

// covers says whether every deployment of a cluster is in scope. Where the files of one bundle are the scope, its Cluster is not.
func (c *Case) covers(cl *v1alpha1.Cluster) bool {
	in := 0
	for _, d := range c.Deployments {
		if d.Given == nil && d.Namespace == cl.Status.Namespace {
			in++
		}
	}
	all := 0
	for _, d := range c.Inventory.Deployments {
		if d.BD != nil && d.Namespace == cl.Status.Namespace {
			all++
		}
	}
	return in == all && (all > 0 || c.Whole) && cl.Status.Namespace != "" && c.DeploymentsRead(cl.Status.Namespace)
}

func clusterSum(c *Case, cl *v1alpha1.Cluster) *report.Finding {
	var sum v1alpha1.ResourceCounts
	ready, total := 0, 0
	for _, d := range c.Deployments {
		if d.BD == nil || d.Namespace != cl.Status.Namespace {
			continue
		}
		counts, ok := InFleetsTerms(d)
		if !ok {
			return nil // a sum with an unknown part proves nothing
		}
		add(&sum, counts)
		total++
		if d.BD.Status.Display.State == string(report.Ready) {
			ready++
		}
	}
	var wrong []string
	s := cl.Status
	if s.ResourceCounts != sum {
		wrong = append(wrong, fmt.Sprintf("says %d/%d objects ready, its deployments sum up to %d/%d",
			s.ResourceCounts.Ready, s.ResourceCounts.DesiredReady, sum.Ready, sum.DesiredReady))
	}
	if s.Summary.Ready != ready || s.Summary.DesiredReady != total {
		wrong = append(wrong, fmt.Sprintf("says %d/%d bundle deployments ready, they say %d/%d", s.Summary.Ready, s.Summary.DesiredReady, ready, total))
	}
	if len(wrong) == 0 {
		return nil
	}
	f := &report.Finding{
		Object:      Ref("Cluster", cl.Namespace, cl.Name),
		Cluster:     cl.Namespace + "/" + cl.Name,
		Message:     "cluster " + cl.Namespace + "/" + cl.Name + " " + wrong[0],
		Evidence:    wrong[1:],
		AsOf:        s.Agent.LastSeen,
		Remediation: c.Commands.Kubectl + inNamespace(s.Namespace) + " get bundledeployments",
	}
	if s.Agent.LastSeen != "" {
		f.Evidence = append(f.Evidence, "the agent's last heartbeat was at "+s.Agent.LastSeen)
	}
	return f
}

// InFleetsTerms returns the counts of a deployment as its own status has them, or, before Fleet 0.12, as its agent would count them:
// its missing includes what we call unowned. ok is false where neither is known.
func InFleetsTerms(d *Deployment) (v1alpha1.ResourceCounts, bool) {
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

func add(sum *v1alpha1.ResourceCounts, c v1alpha1.ResourceCounts) {
	sum.DesiredReady += c.DesiredReady
	sum.Ready += c.Ready
	sum.WaitApplied += c.WaitApplied
	sum.Modified += c.Modified
	sum.Orphaned += c.Orphaned
	sum.Missing += c.Missing
	sum.Unknown += c.Unknown
	sum.NotReady += c.NotReady
}
