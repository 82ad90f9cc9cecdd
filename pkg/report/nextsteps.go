// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"slices"
	"strings"
)

// programs are the programs of commands. A remediation that begins with another word is a sentence.
var programs = []string{"kubectl", "kubectl-fleetdoctor", "helm"}

// NextSteps returns the ways to proceed after a finding, the safest one first: its remedies, those of each of its
// clusters, or the remediation of a report that has no remedies.
func (f *Finding) NextSteps() []Remedy {
	switch {
	case len(f.PerCluster) > 0:
		return inTurn(f.onEach())
	case len(f.Remedies) > 0 || f.Remediation == "":
		return f.Remedies
	}
	if program, _, _ := strings.Cut(f.Remediation, " "); slices.Contains(programs, path.Base(program)) {
		return []Remedy{{Command: f.Remediation}}
	}
	return []Remedy{{Text: f.Remediation}}
}

// FirstSteps returns the safest way to proceed, on each of its clusters.
func (f *Finding) FirstSteps() []Remedy {
	if len(f.PerCluster) > 0 {
		return at(f.onEach(), 0)
	}
	steps := f.NextSteps()
	return steps[:min(1, len(steps))]
}

// onEach returns the remedies on each cluster.
func (f *Finding) onEach() [][]Remedy {
	out := make([][]Remedy, len(f.PerCluster))
	for i, c := range f.PerCluster {
		out[i] = c.Remedies
	}
	return out
}

// inTurn returns the first remedy of each list, then the second ones, and so on; each remedy once.
func inTurn(lists [][]Remedy) []Remedy {
	var out []Remedy
	for i := 0; ; i++ {
		steps := at(lists, i)
		if len(steps) == 0 {
			return out
		}
		out = append(out, steps...)
	}
}

// at returns the remedy at a place of each list; each remedy once.
func at(lists [][]Remedy, place int) []Remedy {
	var out []Remedy
	for _, list := range lists {
		if place < len(list) && !slices.Contains(out, list[place]) {
			out = append(out, list[place])
		}
	}
	return out
}

// NextSteps returns the ways to proceed after a cause, the safest one first: those of at most so many of its
// deployments, with 0 of all. Deployments with the same cause on several clusters have their own commands.
func (c *WhyCause) NextSteps(most int) []Remedy {
	out := [][]Remedy{c.Remedies}
	for i, d := range c.Deployments {
		if most == 0 || i < most {
			out = append(out, d.Remedies)
		}
	}
	return inTurn(out)
}

// OnEach returns the finding as it is on each of its clusters.
func (f *Finding) OnEach() []Finding {
	if len(f.PerCluster) == 0 {
		return f.onClusters()
	}
	out := make([]Finding, len(f.PerCluster))
	for i, c := range f.PerCluster {
		out[i] = *f
		x := &out[i]
		x.Cluster, x.ID, x.BundleDeployment = c.Cluster, c.ID, c.BundleDeployment
		x.Evidence, x.Remedies = c.Evidence, c.Remedies
		x.Clusters, x.IDs, x.PerCluster, x.Remediation = nil, nil, nil, first(c.Remedies)
	}
	return out
}

// onClusters returns the finding of an earlier report, which knows only the clusters and the identities, on each
// cluster.
func (f *Finding) onClusters() []Finding {
	if len(f.Clusters) == 0 {
		return []Finding{*f}
	}
	out := make([]Finding, len(f.Clusters))
	for i, cluster := range f.Clusters {
		out[i] = *f
		out[i].Cluster, out[i].Clusters, out[i].IDs = cluster, nil, nil
		if i < len(f.IDs) {
			out[i].ID = f.IDs[i]
		}
	}
	return out
}

// Described returns the evidence. Of a finding on several clusters, a sentence that is not true of all of them names
// the cluster.
func (f *Finding) Described() []string {
	return each(f.Evidence, func(e string) string {
		if slices.ContainsFunc(f.PerCluster, func(c ClusterFinding) bool { return !slices.Contains(c.Evidence, e) }) {
			return "on " + f.Cluster + ": " + e
		}
		return e
	})
}
