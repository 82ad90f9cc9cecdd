// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/comparison"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Changes describes what changed between two reports of an audit, one change on each line. Without a report before, it
// describes what is not well. A finding that is not in the second report is resolved only if everything that it depends
// on could be read.
func Changes(before, after *report.Audit) []string {
	if before == nil {
		s := after.Summary
		out := []string{fmt.Sprintf("audit: objects ready: %d/%d, bundle deployments: %d, without a result: %d, "+
			"errors: %d, warnings: %d, not read: %d",
			s.Counts.Ready, s.Counts.Desired, s.BundleDeployments, after.WithoutResult(), s.Findings.Error,
			s.Findings.Warning, len(after.Gaps))}
		before = &report.Audit{}
		for _, bd := range after.BundleDeployments {
			if bd.State == report.Ready || bd.Reason == clusterNotRead && stateOf(&bd) == notReadButReady {
				before.BundleDeployments = append(before.BundleDeployments, bd) // only what is not well
			}
		}
		return append(out, Changes(before, after)...)
	}
	on := onCluster(before, after)
	return slices.Concat(gaps(before, after), deployments(before, after, on), findings(before, after, on))
}

// onCluster returns a function that returns the end of a line with the cluster; "" if the reports are about one
// cluster. Bundle deployments of downstream clusters, and objects, have the same names on several clusters.
func onCluster(reports ...*report.Audit) func(cluster string) string {
	clusters := map[string]bool{}
	for _, a := range reports {
		for i := range a.BundleDeployments {
			clusters[a.BundleDeployments[i].Cluster] = true
		}
	}
	return func(cluster string) string {
		if cluster == "" || len(clusters) < 2 {
			return ""
		}
		return " (cluster " + cluster + ")"
	}
}

// clusterNotRead is the reason of a bundle deployment on a cluster that was not read. Of these, only the state that
// Fleet reports changes.
const clusterNotRead, notReadButReady = "ClusterNotRead", "Unknown (Fleet reports Ready)"

// stateOf is the state of a bundle deployment, with the reason if it has no result.
func stateOf(bd *report.BundleDeployment) string {
	switch {
	case bd.Reason == clusterNotRead && bd.Reported != nil && bd.Reported.State != "":
		return fmt.Sprintf("%s (Fleet reports %s)", bd.State, bd.Reported.State)
	case bd.Reason != "":
		return fmt.Sprintf("%s (%s)", bd.State, bd.Reason)
	}
	return string(bd.State)
}

func states(a *report.Audit) map[comparison.DeploymentKey]string {
	out := map[comparison.DeploymentKey]string{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		out[comparison.KeyOf(bd)] = stateOf(bd)
	}
	return out
}

func deployments(before, after *report.Audit, on func(cluster string) string) []string {
	was, is := states(before), states(after)
	var out []string
	for i := range after.BundleDeployments {
		bd := &after.BundleDeployments[i]
		key := comparison.KeyOf(bd)
		switch old, known := was[key]; {
		case !known:
			out = append(out, fmt.Sprintf("bundledeployment %s %s%s", key.Key, is[key], on(key.Cluster)))
		case old != is[key]:
			out = append(out, fmt.Sprintf("bundledeployment %s %s -> %s%s", key.Key, old, is[key], on(key.Cluster)))
		}
	}
	for i := range before.BundleDeployments {
		bd := &before.BundleDeployments[i]
		if key := comparison.KeyOf(bd); is[key] == "" {
			out = append(out, fmt.Sprintf("bundledeployment %s %s -> %s%s", key.Key, was[key],
				cmp.Or(absent(before, after), "deleted"), on(key.Cluster)))
		}
	}
	return out
}

const notRead = "unknown (it could not be read)"

// absent is the word for something that is not in the second report because it could not be read; "" if it would have
// been read.
func absent(before, after *report.Audit) string {
	if len(comparison.NewGaps(before, after)) > 0 {
		return notRead
	}
	return ""
}

// findings describes the findings on each cluster. It compares as compare does, with one difference: after a new gap,
// no finding is resolved. The lines of a watch are read one by one, without the gap that explains them.
func findings(before, after *report.Audit, on func(cluster string) string) []string {
	was, is := comparison.ByID(before), comparison.ByID(after)
	var out []string
	for _, o := range comparison.Occurrences(after) {
		switch old, known := was[o.ID]; {
		case !known:
			out = append(out, fmt.Sprintf("finding %s %s: %s", o.ID, o.Severity, o.Message+on(o.Cluster)))
		case old.Severity != o.Severity:
			out = append(out, fmt.Sprintf("finding %s %s -> %s: %s", o.ID, old.Severity, o.Severity,
				o.Message+on(o.Cluster)))
		}
	}
	pair := comparison.NewPair(before, after)
	for _, o := range comparison.Occurrences(before) {
		if _, known := is[o.ID]; known {
			continue
		}
		end := cmp.Or(absent(before, after), "resolved")
		if !pair.Fixed(o) {
			end = notRead
		}
		out = append(out, fmt.Sprintf("finding %s %s -> %s: %s", o.ID, o.Severity, end, o.Message+on(o.Cluster)))
	}
	return out
}

func gaps(before, after *report.Audit) []string {
	var out []string
	for _, g := range comparison.NewGaps(before, after) {
		out = append(out, fmt.Sprintf("not read: %s: %s", of(g), g.Why()))
	}
	for _, g := range before.Gaps {
		if !slices.ContainsFunc(after.Gaps, func(x report.Gap) bool {
			return x.Cluster == g.Cluster && x.What == g.What
		}) {
			out = append(out, "read again: "+of(g))
		}
	}
	return out
}

// of is what a gap is about.
func of(g report.Gap) string {
	if g.Cluster == "" {
		return g.What
	}
	return "cluster " + g.Cluster + ": " + g.What
}
