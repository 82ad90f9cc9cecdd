// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Targets lays out a targets report. Its names are the bundles with a cluster whose deployment is not as expected.
func Targets(d *report.Targets, o Options) Document {
	return Document{o, d, d.Bundles, func(t text, b *bytes.Buffer) error {
		return t.targets(b, d)
	}, func(b *bytes.Buffer) {
		for _, x := range d.Bundles {
			for _, c := range x.Clusters {
				if c.Deployment == report.DeploymentAbsent || c.Deployment == report.DeploymentLeftover {
					printName(b, x.Namespace, "bundle.fleet.cattle.io", x.Name)
					break
				}
			}
		}
	}}
}

func (t text) targets(b *bytes.Buffer, d *report.Targets) error {
	t.head(b, "Targets in ", d.Source, d.TakenAt)
	t.notRead(b, d.Gaps, d.Notes)
	for i, x := range d.Bundles {
		if i > 0 {
			b.WriteByte('\n')
		}
		if err := t.targetedBundle(b, x); err != nil {
			return err
		}
	}
	return nil
}

func (t text) targetedBundle(b *bytes.Buffer, x report.TargetedBundle) error {
	fmt.Fprintf(b, "%s %s\n", t.bold("bundle "+printable(x.Namespace+"/"+x.Name)), t.faint(printable(x.Mode)))
	if x.Error != "" {
		t.sentences(b, "  ", x.Error)
	}
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
		t.wrapped(b, "  ", fmt.Sprintf("%d. %s: %s%s", i+1, title, does, target.Selects))
	}
	for _, r := range x.Restrictions {
		t.wrapped(b, "  ", "restricted to "+r)
	}
	s := x.Summary
	fmt.Fprintf(b, "  %s: %d expected, %d excluded, %d blocked, %d unknown\n\n", plural(len(x.Clusters), "cluster"),
		s.Expected, s.Excluded, s.Blocked, s.Unknown)
	if len(x.Clusters) == 0 {
		return nil
	}
	g := t.grid([]column{{header: "CLUSTER"}, {header: "RESULT", whole: true}, {header: "TARGET"},
		{header: "CUSTOMIZATIONS", short: "CUSTOM"},
		{header: "DEPLOYMENT", whole: true}})
	clusters := slices.Clone(x.Clusters)
	slices.SortStableFunc(clusters, func(a, b report.TargetedCluster) int { return urgency(a) - urgency(b) })
	shown := limited(t, clusters)
	for _, c := range shown {
		g.rows = append(g.rows, []string{printable(c.Cluster), printable(string(c.Result)),
			dash(cmp.Or(c.DecidedBy, c.Target)), dash(strings.Join(c.Customizations,
				",")), printable(string(c.Deployment))})
	}
	g.fit()
	lines, err := g.lines()
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(b, line)
	}
	t.more(b, "", len(x.Clusters)-len(shown), "")
	b.WriteByte('\n')
	for _, c := range shown {
		asExpected := c.Result == report.TargetExpected && c.Deployment == report.DeploymentExists
		if asExpected && len(c.Changes) == 0 && !t.wide {
			continue // the table says everything
		}
		fmt.Fprintln(b, t.bold(printable(c.Cluster)))
		t.sentences(b, "  ", c.Message)
		t.sentences(b, "  ", limited(t, c.Changes)...)
	}
	return nil
}

// urgency orders the clusters: those whose deployment is not as expected come first, then those without a certain
// result.
func urgency(c report.TargetedCluster) int {
	switch {
	case c.Deployment == report.DeploymentAbsent, c.Deployment == report.DeploymentLeftover:
		return 0
	case c.Result == report.TargetUnknown, c.Result == report.TargetBlocked, c.Deployment == report.DeploymentPending:
		return 1
	}
	return 2
}

// dash is a value of a cell, or "-" without one.
func dash(s string) string {
	return cmp.Or(printable(s), none)
}
