// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"slices"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// ListChanges describes what changed between two reports of an audit, one change on each line. Without a report before, it
// describes what is not well. A finding that is not in the second report is resolved only if everything that it depends
// on could be read.
func ListChanges(before, after *report.Audit) []string {
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
		return append(out, ListChanges(before, after)...)
	}
	on, c := onCluster(before, after), report.Compare(before, after, "")
	lost := slices.ContainsFunc(c.Gaps, func(g report.GapChange) bool { return g.Effect == report.EffectUnknown })
	return slices.Concat(gaps(c, after), deployments(before, after, lost, on), findings(c, lost, on))
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

func states(a *report.Audit) map[report.DeploymentKey]string {
	out := map[report.DeploymentKey]string{}
	for i := range a.BundleDeployments {
		bd := &a.BundleDeployments[i]
		out[report.KeyOf(bd)] = stateOf(bd)
	}
	return out
}

// deployments describes the bundle deployments whose state changed. lost says that the second report has a new gap.
func deployments(before, after *report.Audit, lost bool, on func(cluster string) string) []string {
	was, is := states(before), states(after)
	gone := "deleted"
	if lost {
		gone = notRead
	}
	var out []string
	for i := range after.BundleDeployments {
		bd := &after.BundleDeployments[i]
		key := report.KeyOf(bd)
		switch old, known := was[key]; {
		case !known:
			out = append(out, fmt.Sprintf("bundledeployment %s %s%s", key.Key, is[key], on(key.Cluster)))
		case old != is[key]:
			out = append(out, fmt.Sprintf("bundledeployment %s %s -> %s%s", key.Key, old, is[key], on(key.Cluster)))
		}
	}
	for i := range before.BundleDeployments {
		bd := &before.BundleDeployments[i]
		if key := report.KeyOf(bd); is[key] == "" {
			out = append(out, fmt.Sprintf("bundledeployment %s %s -> %s%s", key.Key, was[key], gone, on(key.Cluster)))
		}
	}
	return out
}

const notRead = "unknown (it could not be read)"

// findings describes the findings on each cluster, with one difference to compare: after a new gap, no finding is
// resolved. The lines of a watch are read one by one, without the gap that explains them.
func findings(c *report.Comparison, lost bool, on func(cluster string) string) []string {
	var out, gone []string
	for _, f := range c.Findings {
		text := f.Message + on(f.Cluster)
		switch {
		case f.Before == "":
			out = append(out, fmt.Sprintf("finding %s %s: %s", f.ID, f.After, text))
		case f.After != "":
			out = append(out, fmt.Sprintf("finding %s %s -> %s: %s", f.ID, f.Before, f.After, text))
		case lost || f.Effect == report.EffectUnknown:
			gone = append(gone, fmt.Sprintf("finding %s %s -> %s: %s", f.ID, f.Before, notRead, text))
		default:
			gone = append(gone, fmt.Sprintf("finding %s %s -> resolved: %s", f.ID, f.Before, text))
		}
	}
	return append(out, gone...)
}

// gaps describes the gaps that only one of two reports has. A gap for another reason is not read again.
func gaps(c *report.Comparison, after *report.Audit) []string {
	var out []string
	for _, g := range c.Gaps {
		of := g.What
		if g.Cluster != "" {
			of = "cluster " + g.Cluster + ": " + g.What
		}
		remains := slices.ContainsFunc(after.Gaps, func(x report.Gap) bool {
			return x.Cluster == g.Cluster && x.What == g.What
		})
		switch {
		case g.Effect == report.EffectUnknown:
			out = append(out, fmt.Sprintf("not read: %s: %s", of, g.Why()))
		case !remains:
			out = append(out, "read again: "+of)
		}
	}
	return out
}
