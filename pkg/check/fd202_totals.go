// SPDX-License-Identifier: Apache-2.0

package check

// The comparisons of FD202 to FD206.
var (
	bundleSummary = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfBundle}
	repoResources = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongOfRepo}
	repoClusters  = comparison{deployments, deploymentChange, (*Input).partsOf, (*Input).wrongClustersOfRepo}
	clusterCounts = comparison{deployments, heartbeat, (*Input).partsOf, (*Input).wrongOfCluster}
	groupCounts   = comparison{"its clusters", clusterChange, (*Input).clustersOf, (*Input).wrongOfGroup}
)

const (
	deployments      = "its bundle deployments"
	deploymentChange = "Fleet updates this number some seconds after a bundle deployment changes"
	clusterChange    = "Fleet updates this number some seconds after one of the Clusters changes"
	heartbeat        = "Fleet updates this number at the heartbeat of the agent, not when an object changes"
)
