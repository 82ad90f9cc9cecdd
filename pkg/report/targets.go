// SPDX-License-Identifier: Apache-2.0

package report

// KindTargets is the kind of a Targets.
const KindTargets = "TargetsReport"

// Targets reports which clusters bundles are deployed to, and why.
type Targets struct {
	Head
	Bundles []TargetedBundle `json:"bundles"`
	Gaps    []Gap            `json:"gaps"`
	// Notes are information for the reader that is not a gap.
	Notes []string `json:"notes,omitempty"`
}

// TargetedBundle is a bundle with its targets, and the clusters in the namespaces that it reaches.
type TargetedBundle struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mode is FirstMatch or AllMatches: how many of the customizations that match a cluster apply.
	Mode string `json:"mode"`
	// Error is why Fleet evaluates none of the targets.
	Error        string              `json:"error,omitempty"`
	Targets      []Target            `json:"targets"`
	Restrictions []string            `json:"restrictions,omitempty"`
	Clusters     []TargetedCluster   `json:"clusters"`
	Summary      TargetedClusterSums `json:"summary"`
}

// TargetedClusterSums count the clusters of a bundle by result.
type TargetedClusterSums struct {
	Expected int `json:"expected"`
	Excluded int `json:"excluded"`
	Blocked  int `json:"blocked"`
	Unknown  int `json:"unknown"`
}

// Target is one target of a bundle. A customization changes options and selects no cluster by itself.
type Target struct {
	Name          string `json:"name"`
	Customization bool   `json:"customization"`
	DoNotDeploy   bool   `json:"doNotDeploy"`
	Selects       string `json:"selects"` // its criteria as text
}

// TargetResult is whether a bundle is deployed to a cluster, according to its targets.
type TargetResult string

// The results.
const (
	TargetExpected TargetResult = "Expected"
	TargetExcluded TargetResult = "Excluded"
	TargetBlocked  TargetResult = "Blocked" // it is deployed once the cluster has a namespace for BundleDeployments
	TargetUnknown  TargetResult = "Unknown"
)

// TargetedCluster is the result for one bundle and one cluster.
type TargetedCluster struct {
	Cluster string       `json:"cluster"` // "namespace/name"
	Result  TargetResult `json:"result"`
	// Reason is a word, Message a sentence.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// Target selects the cluster; Customizations are those whose options apply; DecidedBy excludes the cluster by
	// doNotDeploy.
	Target         string   `json:"target,omitempty"`
	Customizations []string `json:"customizations,omitempty"`
	DecidedBy      string   `json:"decidedBy,omitempty"`
	// Group is the group of the cluster for which the target matches; Groups are all its groups.
	Group  string   `json:"group,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// BundleDeployment is "namespace/name" of the one that exists. Deployment says whether that is as expected.
	BundleDeployment string           `json:"bundleDeployment,omitempty"`
	Deployment       TargetDeployment `json:"deployment"`
	// Changes are what would change the result, a sentence each.
	Changes []string `json:"changes,omitempty"`
}

// TargetDeployment compares the result with the BundleDeployment on the cluster.
type TargetDeployment string

// The values.
const (
	DeploymentExists   TargetDeployment = "Exists"
	DeploymentAbsent   TargetDeployment = "Absent"   // expected, and it does not exist
	DeploymentPending  TargetDeployment = "Pending"  // expected, and Fleet still has to create it
	DeploymentLeftover TargetDeployment = "Leftover" // it exists, and is not expected
	DeploymentNone     TargetDeployment = "None"     // not expected, and it does not exist
	DeploymentUnread   TargetDeployment = "Unread"   // it is not known whether it exists
)

// Complete sets the fields that follow from the bundles. Call it once, after all bundles were added.
func (d *Targets) Complete() {
	complete(d)
	for i := range d.Bundles {
		n := countBy(d.Bundles[i].Clusters, func(c TargetedCluster) TargetResult { return c.Result })
		d.Bundles[i].Summary = TargetedClusterSums{n[TargetExpected], n[TargetExcluded], n[TargetBlocked],
			n[TargetUnknown]}
	}
}
