// SPDX-License-Identifier: Apache-2.0

package why

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
)

// The kinds of steps, in addition to those of package blocker.
const (
	// Of a bundle deployment.
	Deleting   blocker.Kind = "Deleting"
	NotApplied blocker.Kind = "NotApplied" // nothing that was read shows why
	// a limit of the rollout, a partition that it has not reached, or a run of the controller that is due
	Rollout     blocker.Kind = "Rollout"
	Absent      blocker.Kind = "Absent"      // there is no BundleDeployment
	NoNamespace blocker.Kind = "NoNamespace" // the cluster has no namespace for BundleDeployments
	// deployed objects are not ready, missing, unowned, modified or left over
	Objects       blocker.Kind = "Objects"
	ReportedState blocker.Kind = "ReportedState" // Fleet reports a state, and lists no object
	StatusWrong   blocker.Kind = "StatusWrong"   // the status is not that of the objects, which are ready
	Unread        blocker.Kind = "Unread"        // what decides could not be read

	// Of a Bundle.
	TargetError   blocker.Kind = "TargetError"
	BundleValues  blocker.Kind = "BundleValues"
	ChartVersion  blocker.Kind = "ChartVersion"
	BundleError   blocker.Kind = "BundleError"
	BundlePending blocker.Kind = "BundlePending" // the controller has not processed the present spec

	// Of a GitRepo or HelmOp.
	GitJob      blocker.Kind = "GitJob"
	NotFollowed blocker.Kind = "NotFollowed"
	NoBundles   blocker.Kind = "NoBundles"

	// Of a dependency.
	Excluded blocker.Kind = "Excluded" // its targets do not select the cluster
	NoBundle blocker.Kind = "NoBundle" // its Bundle does not exist
)

// Kind is a kind of steps with its meaning.
type Kind struct {
	Kind    blocker.Kind
	Meaning string
}

// Kinds are the kinds of steps, also those of package blocker, for the documentation.
func Kinds() []Kind {
	return []Kind{
		{blocker.Paused, "the bundle, its GitRepo or its cluster is paused"},
		{blocker.Schedule, "it is outside of the schedule of its cluster"},
		{blocker.Agent, "the agent of the cluster does not report"},
		{blocker.Values, "the values Secret is missing, or has other values than the BundleDeployment states"},
		{blocker.Dependency, "it waits for a dependency, which is the next step"},
		{blocker.Absent, "nothing on the cluster matches a dependency"},
		{blocker.Cycle, "its dependencies, or the clusters that it waits for, lead back to itself"},
		{Excluded, "the targets of a dependency do not select the cluster"},
		{NoBundle, "the Bundle of a dependency does not exist"},
		{blocker.Content, "the Content with its manifests does not exist"},
		{blocker.Record, "Helm refuses to deploy, because a revision of the release is pending"},
		{blocker.Failed, "the agent could not install or deploy it"},
		{NotApplied, "the agent has not applied the current deployment, and nothing that was read shows why"},
		{Rollout, "a limit of the rollout is used up, its partition is not reached or no partition selects it, or " +
			"the next run of the controller updates it"},
		{Absent, "there is no BundleDeployment for a target"},
		{NoNamespace, "the cluster has no namespace for BundleDeployments yet"},
		{Deleting, "it is being deleted"},
		{Objects, "deployed objects are not ready, missing, unowned, modified or left over"},
		{ReportedState, "Fleet reports the state, and its status does not list an object"},
		{StatusWrong, "Fleet reports a state that its objects do not have"},
		{Unread, "what decides could not be read"},
		{TargetError, "an error of one target or cluster stops the whole Bundle"},
		{BundleValues, "the values Secret of the Bundle is missing or different: the controller updates no target"},
		{ChartVersion, "the chart version of a HelmOp is not resolved yet"},
		{BundleError, "the controller could not process the Bundle"},
		{BundlePending, "the controller has not processed the present spec of the Bundle"},
		{GitJob, "the Job of the GitRepo failed or is in progress"},
		{NotFollowed, "Fleet does not follow the GitRepo"},
		{NoBundles, "the GitRepo or HelmOp has no Bundle"},
	}
}
