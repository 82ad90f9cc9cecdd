// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Targets lays out a targets report. Its names are the bundles with a cluster whose deployment is not as expected.
func Targets(d *report.Targets, o Options) Document {
	return Document{o, d, d.Bundles, func(t text) { t.targets(d) }, func(t text) {
		for _, x := range d.Bundles {
			if slices.ContainsFunc(x.Clusters, unexpected) {
				t.name(x.Namespace, "bundle.fleet.cattle.io", x.Name)
			}
		}
	}}
}

func (t text) targets(d *report.Targets) {
	t.head("Targets in ", d.Source, d.TakenAt)
	t.notRead(d.Gaps, d.Notes)
	for i, x := range d.Bundles {
		if i > 0 {
			t.line("")
		}
		t.targetedBundle(x)
	}
}

func (t text) targetedBundle(x report.TargetedBundle) {
	t.linef("%s %s", t.bold("bundle "+printable(x.Namespace+"/"+x.Name)), t.faint(printable(x.Mode)))
	t.sentences("  ", x.Error)
	for i, target := range x.Targets {
		title := "target " + target.Name
		switch {
		case strings.HasPrefix(target.Name, "targets["): // it has no name: this is its place in the list
			title = target.Name
		case target.Customization:
			title = "customization " + target.Name
		}
		does := ""
		if target.DoNotDeploy {
			does = "doNotDeploy for "
		}
		t.wrapped("  ", fmt.Sprintf("%d. %s: %s%s", i+1, title, does, target.Selects))
	}
	for _, r := range x.Restrictions {
		t.wrapped("  ", "restricted to "+r)
	}
	s := x.Summary
	t.linef("  %s: %d expected, %d excluded, %d blocked, %d unknown\n", plural(len(x.Clusters), "cluster"),
		s.Expected, s.Excluded, s.Blocked, s.Unknown)
	if len(x.Clusters) > 0 {
		t.targetedClusters(x)
	}
}

// targetedClusters shows a table of the clusters, and those about which it does not say everything.
func (t text) targetedClusters(x report.TargetedBundle) {
	g := t.grid([]column{
		{header: "CLUSTER"},
		{header: "RESULT", whole: true},
		{header: "TARGET"},
		{header: "CUSTOMIZATIONS", short: "CUSTOM"},
		{header: "DEPLOYMENT", whole: true},
	})
	clusters := slices.Clone(x.Clusters)
	slices.SortStableFunc(clusters, func(a, b report.TargetedCluster) int { return urgency(a) - urgency(b) })
	shown := limited(t, clusters)
	for _, c := range shown {
		g.rows = append(g.rows, []string{printable(c.Cluster), printable(string(c.Result)),
			dash(cmp.Or(c.DecidedBy, c.Target)), dash(strings.Join(c.Customizations, ",")),
			printable(string(c.Deployment))})
	}
	g.fit()
	t.line(strings.Join(t.rows(g), "\n"))
	t.more("", len(x.Clusters)-len(shown), "")
	t.line("")
	for _, c := range shown {
		asExpected := c.Result == report.TargetExpected && c.Deployment == report.DeploymentExists
		if asExpected && len(c.Changes) == 0 && t.limits() {
			continue // the table says everything
		}
		t.line(t.bold(printable(c.Cluster)))
		t.sentences("  ", c.Message)
		t.sentences("  ", limited(t, c.Changes)...)
	}
}

// unexpected reports whether the deployment to a cluster is not as expected.
func unexpected(c report.TargetedCluster) bool {
	return c.Deployment == report.DeploymentAbsent || c.Deployment == report.DeploymentLeftover
}

// urgency orders the clusters: those whose deployment is not as expected come first, then those without a certain
// result.
func urgency(c report.TargetedCluster) int {
	switch {
	case unexpected(c):
		return 0
	case c.Result == report.TargetUnknown, c.Result == report.TargetBlocked, c.Deployment == report.DeploymentPending:
		return 1
	}
	return 2
}

// dash is a value of a cell, or "-" without one.
func dash(s string) string { return cmp.Or(printable(s), none) }
