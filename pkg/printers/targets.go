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
	unmet := func(x report.TargetedBundle) bool { return slices.ContainsFunc(x.Clusters, unexpected) }
	return Document{o, d, d.Bundles, func(l *layout) { targets(l, d) }, arguments(d.Bundles, unmet,
		func(x report.TargetedBundle) string { return argument(x.Namespace, "bundle.fleet.cattle.io", x.Name) })}
}

func targets(l *layout, d *report.Targets) {
	head(l, "Targets in ", d.Source, d.TakenAt)
	notRead(l, d.Gaps, d.Notes)
	for _, x := range d.Bundles {
		targetedBundle(l, x)
		l.end()
	}
}

func targetedBundle(l *layout, x report.TargetedBundle) {
	l.line(bold("bundle "+x.Namespace+"/"+x.Name), " ", faint(x.Mode))
	l.sentences("  ", x.Error)
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
		l.say("  ", fmt.Sprintf("%d. %s: %s%s", i+1, title, does, target.Selects))
	}
	for _, r := range x.Restrictions {
		l.say("  ", "restricted to "+r)
	}
	s := x.Summary
	l.line(fmt.Sprintf("  %s: %d expected, %d excluded, %d blocked, %d unknown", plural(len(x.Clusters), "cluster"),
		s.Expected, s.Excluded, s.Blocked, s.Unknown))
	l.end()
	if len(x.Clusters) > 0 {
		targetedClusters(l, x)
	}
}

// targetedClusters shows a table of the clusters, and those about which it does not say everything.
func targetedClusters(l *layout, x report.TargetedBundle) {
	t := newTable(l, []column{
		{header: "CLUSTER"},
		{header: "RESULT", whole: true},
		{header: "TARGET"},
		{header: "CUSTOMIZATIONS", short: "CUSTOM"},
		{header: "DEPLOYMENT", whole: true},
	})
	clusters := slices.Clone(x.Clusters)
	slices.SortStableFunc(clusters, func(a, b report.TargetedCluster) int { return urgency(a) - urgency(b) })
	shown := limited(l, clusters)
	for _, c := range shown {
		t.add(join(c.Cluster), join(c.Result), join(cmp.Or(c.DecidedBy, c.Target, none)),
			join(cmp.Or(strings.Join(c.Customizations, ","), none)), join(c.Deployment))
	}
	t.fit()
	l.add(t)
	l.more("", len(x.Clusters)-len(shown), "")
	l.end()
	for _, c := range shown {
		asExpected := c.Result == report.TargetExpected && c.Deployment == report.DeploymentExists
		if asExpected && len(c.Changes) == 0 && l.limits() {
			continue // the table says everything
		}
		l.title(c.Cluster)
		l.sentences("  ", c.Message)
		l.sentences("  ", limited(l, c.Changes)...)
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
