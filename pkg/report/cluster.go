// SPDX-License-Identifier: Apache-2.0

package report

import "slices"

// OtherCluster returns why two reports are certainly of different clusters; "" if they are of the same one, or if that
// is not known. Reports with the same scope are of different clusters if they have nothing in common, although both
// have Clusters, or although both have bundle deployments and everything was read.
func OtherCluster(before, after *Audit) string {
	if known, same := byUID(before, after); known {
		if same {
			return ""
		}
		return "the Namespace kube-system has another uid"
	}
	certain, possible := inCommon(before, after)
	named := len(clustersOf(before)) > 0 && len(clustersOf(after)) > 0
	deployed := len(before.BundleDeployments) > 0 && len(after.BundleDeployments) > 0 &&
		len(before.Gaps)+len(after.Gaps) == 0
	compared := slices.Equal(ScopeOf(before), ScopeOf(after)) && (named || deployed)
	if certain || possible || !compared {
		return ""
	}
	return "they have no bundle deployment and no Cluster in common"
}

// ClusterNotes returns a note if two reports may be of different clusters. Those of downstream clusters have only the
// ids of bundles, which are the same on each cluster that a bundle is deployed to.
func ClusterNotes(before, after *Audit) []string {
	known, _ := byUID(before, after)
	certain, possible := inCommon(before, after)
	if known || certain || !possible {
		return nil
	}
	return []string{"it is not known whether both audits are of the same cluster: they have only names of bundles in " +
		"common, and the uid of the Namespace kube-system was not read in both"}
}

// byUID compares the uids of the clusters. known is false if one of them was not read.
func byUID(before, after *Audit) (known, same bool) {
	x, y := before.Source.ClusterUID, after.Source.ClusterUID
	return x != "" && y != "", x == y
}

// inCommon reports whether two reports have a Cluster or a bundle deployment in common. It is only possible that they
// have one if it has no namespace: then only the id of its bundle is known.
func inCommon(before, after *Audit) (certain, possible bool) {
	x := clustersOf(before)
	for name := range clustersOf(after) {
		certain = certain || x[name]
	}
	deployments := map[string]bool{}
	for _, bd := range before.BundleDeployments {
		deployments[bd.Key()] = true
	}
	for _, bd := range after.BundleDeployments {
		if deployments[bd.Key()] {
			certain, possible = certain || bd.Namespace != "", true
		}
	}
	return certain, possible
}

// clustersOf returns the Clusters of a report. Those of which not everything is known are only named by their bundle
// deployments.
func clustersOf(a *Audit) map[string]bool {
	out := map[string]bool{}
	for _, c := range a.Clusters {
		out[c.Namespace+"/"+c.Name] = true
	}
	for _, bd := range a.BundleDeployments {
		if bd.Cluster != "" {
			out[bd.Cluster] = true
		}
	}
	return out
}
