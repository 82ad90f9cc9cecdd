// SPDX-License-Identifier: Apache-2.0

package why

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// The kinds of steps, in addition to those of check.Blocker.
const (
	// Of a bundle deployment.
	Deleting      report.WhyKind = "Deleting"
	NotApplied    report.WhyKind = "NotApplied"    // nothing that was read shows why
	Rollout       report.WhyKind = "Rollout"       // a limit of the rollout, a partition that it has not reached, or a run of the controller that is due
	Absent        report.WhyKind = "Absent"        // there is no BundleDeployment
	NoNamespace   report.WhyKind = "NoNamespace"   // the cluster has no namespace for BundleDeployments
	Objects       report.WhyKind = "Objects"       // deployed objects are not ready, missing, unowned, modified or left over
	ReportedState report.WhyKind = "ReportedState" // Fleet reports a state, and lists no object
	StatusWrong   report.WhyKind = "StatusWrong"   // the status is not that of the objects, which are ready
	Unread        report.WhyKind = "Unread"        // what decides could not be read

	// Of a Bundle.
	TargetError   report.WhyKind = "TargetError"
	BundleValues  report.WhyKind = "BundleValues"
	ChartVersion  report.WhyKind = "ChartVersion"
	BundleError   report.WhyKind = "BundleError"
	BundlePending report.WhyKind = "BundlePending" // the controller has not processed the present spec

	// Of a GitRepo or HelmOp.
	GitJob      report.WhyKind = "GitJob"
	NotFollowed report.WhyKind = "NotFollowed"
	NoBundles   report.WhyKind = "NoBundles"

	// Of a dependency.
	Excluded report.WhyKind = "Excluded" // its targets do not select the cluster
	NoBundle report.WhyKind = "NoBundle" // its Bundle does not exist
)

func kindOfBlocker(k blocker.Kind) report.WhyKind { return report.WhyKind(k) }

// Kind is a kind of steps with its meaning.
type Kind struct {
	Kind    report.WhyKind
	Meaning string
}

// Kinds are the kinds of steps, for the documentation.
func Kinds() []Kind {
	return []Kind{
		{kindOfBlocker(blocker.Paused), "the bundle, its GitRepo or its cluster is paused"},
		{kindOfBlocker(blocker.Schedule), "it is outside of the schedule of its cluster"},
		{kindOfBlocker(blocker.Agent), "the agent of the cluster does not report"},
		{kindOfBlocker(blocker.Values), "the values Secret is missing, or has other values than the BundleDeployment states"},
		{kindOfBlocker(blocker.Dependency), "it waits for a dependency, which is the next step"},
		{kindOfBlocker(blocker.Absent), "nothing on the cluster matches a dependency"},
		{kindOfBlocker(blocker.Cycle), "its dependencies, or the clusters that it waits for, lead back to itself"},
		{Excluded, "the targets of a dependency do not select the cluster"},
		{NoBundle, "the Bundle of a dependency does not exist"},
		{kindOfBlocker(blocker.Content), "the Content with its manifests does not exist"},
		{kindOfBlocker(blocker.Record), "Helm refuses to deploy, because a revision of the release is pending"},
		{kindOfBlocker(blocker.Failed), "the agent could not install or deploy it"},
		{NotApplied, "the agent has not applied the current deployment, and nothing that was read shows why"},
		{Rollout, "a limit of the rollout is used up, its partition is not reached or no partition selects it, or the next run of the controller updates it"},
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
