// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/inventory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// asCase counts what was found out and hands it to the checks.
func (l *live) asCase() *check.Case {
	c := &check.Case{Inventory: l.inv, Deployments: l.deployments, Marked: l.marked, Now: l.now, Whole: l.Scope.Whole() && l.Files == nil,
		DeploymentsRead: l.deploymentsRead, RecordsRead: l.recordsRead,
		Commands: l.Commands}
	for _, d := range l.deployments {
		kept := d.Objects[:0]
		rules := l.rules[d.Deployment]
		for _, o := range d.Objects {
			if o.State == report.Missing && excused(rules, o) {
				continue
			}
			kept = append(kept, o)
			tally(&d.Counts, o.State)
		}
		d.Objects = kept
		d.Counts.Orphaned = len(check.Orphans(d.Deployment, l.marked))
		d.State = stateOf(d)
		d.ServerSide = c.ServerSide(d.Deployment)
	}
	return c
}

func tally(c *report.Counts, s report.State) {
	c.Desired++
	switch s {
	case report.Missing:
		c.Missing++
	case report.Unowned:
		c.Unowned++
	case report.Modified:
		c.Modified++
	case report.NotReady:
		c.NotReady++
	case report.Ready:
		c.Ready++
	default:
		c.Unknown++
	}
}

// stateOf is the true state of a deployment, in the order in which Fleet decides it (Fleet's facts, status-math 4.3).
func stateOf(d *check.Deployment) report.State {
	if d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Status.AppliedDeploymentID && d.Problem != inventory.ClusterNotRead {
		if condition(d.BD.Status.Conditions, "Deployed") == "False" {
			return report.ErrApplied
		}
		return report.WaitApplied
	}
	if d.Problem != "" {
		return report.Unknown
	}
	for _, o := range d.Objects {
		if o.NotReady {
			return report.NotReady
		}
	}
	c := d.Counts
	switch {
	case d.BD != nil && d.BD.Spec.DeploymentID != d.BD.Spec.StagedDeploymentID:
		return report.OutOfSync
	case c.Missing+c.Unowned+c.Modified+c.Orphaned > 0:
		return report.Modified
	case c.Unknown > 0:
		return report.Unknown
	}
	return report.Ready
}

func condition(conditions []v1alpha1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// assemble makes the report of a case, without its findings.
func (r *run) assemble(c *check.Case) *report.Audit {
	out := &report.Audit{
		Tool: report.Tool{Version: r.Version}, Scope: r.Scope.report(),
		Source: r.sourceShown(),
		Gaps:   r.gaps,
		Notes:  append(append([]string{}, r.desc.Notes...), r.inv.Notes...),
	}
	if !r.desc.TakenAt.IsZero() {
		out.TakenAt = r.desc.TakenAt.UTC().Format(time.RFC3339)
	}
	for _, d := range c.Deployments {
		out.BundleDeployments = append(out.BundleDeployments, entry(d, check.Orphans(d.Deployment, c.Marked)))
	}
	r.aggregates(out, c)
	return out
}

func entry(d *check.Deployment, orphans []check.Marked) report.BundleDeployment {
	out := report.BundleDeployment{
		Namespace: d.Namespace, Name: d.Name, Cluster: d.Cluster, Bundle: d.Bundle, GitRepo: d.GitRepo, HelmOp: d.HelmOp,
		SetID: d.Ownership.SetID, Hash: d.Ownership.Hash, State: d.State, Reason: string(d.Problem), Counts: d.Counts, Reported: reported(d.BD),
		Resources: make([]report.Resource, 0, len(d.Objects)+len(orphans)),
	}
	if d.Release.Revision > 0 { // else nothing is installed yet
		out.Release = d.Release.String()
	}
	if d.Problem == "" {
		out.DesiredFrom = string(d.From)
	}
	for _, o := range d.Objects {
		out.Resources = append(out.Resources, report.Resource{
			Ref: o.Ref, State: o.State, Reason: o.Reason, Message: o.Message, Owner: o.Owner, Differences: o.Differences,
		})
	}
	for _, m := range orphans {
		out.Resources = append(out.Resources, report.Resource{Ref: m.Ref, State: report.Orphaned})
	}
	return out
}

// deploymentsRead says whether every BundleDeployment of a namespace was read.
func (r *run) deploymentsRead(namespace string) bool {
	_, all := r.fleet["BundleDeployment"].Of(namespace)
	return all
}

// recordsRead says whether every release record of a namespace was read.
func (r *run) recordsRead(namespace string) bool {
	_, all := r.records.Of(namespace)
	return all
}

func (r *run) versions() *report.FleetVersions {
	out := report.FleetVersions{Controller: r.inv.Versions[""]}
	for _, ns := range sortedKeys(r.inv.Versions) {
		v := r.inv.Versions[ns]
		if ns == "" || v == "" {
			continue
		}
		if out.Agents == nil {
			out.Agents = map[string]string{}
		}
		out.Agents[r.inv.ClusterOfAgent(ns)] = v
	}
	if out.Controller == "" && out.Agents == nil {
		return nil
	}
	return &out
}
