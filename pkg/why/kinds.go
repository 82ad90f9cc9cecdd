// SPDX-License-Identifier: Apache-2.0

package why

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/blocker"

// The kinds of steps, in addition to those of package blocker. pkg/explain/words.yaml has their meanings.
const (
	// Of a bundle deployment.
	Deleting    blocker.Kind = "Deleting"
	NotApplied  blocker.Kind = "NotApplied"  // nothing that was read blocks it now
	Absent      blocker.Kind = "Absent"      // there is no BundleDeployment
	NoNamespace blocker.Kind = "NoNamespace" // the cluster has no namespace for BundleDeployments
	// deployed objects are not ready, missing, unowned, modified or left over
	Objects       blocker.Kind = "Objects"
	ReportedState blocker.Kind = "ReportedState" // Fleet reports a state, and lists no object
	StatusWrong   blocker.Kind = "StatusWrong"   // the status is not that of the objects, which are ready
	Unread        blocker.Kind = "Unread"        // what decides could not be read

	// Of any object of Fleet: a controller refuses or ignores it.
	NotProcessed blocker.Kind = "NotProcessed"

	// Of a parent that does not exist, although bundle deployments name it.
	Gone blocker.Kind = "Gone"

	// Of a Bundle.
	TargetError   blocker.Kind = "TargetError"
	BundleValues  blocker.Kind = "BundleValues"
	ChartVersion  blocker.Kind = "ChartVersion"
	BundlePending blocker.Kind = "BundlePending" // the controller has not processed the present spec

	// Of a GitRepo or HelmOp.
	GitJob      blocker.Kind = "GitJob" // it is in progress
	NotFollowed blocker.Kind = "NotFollowed"
	NoBundles   blocker.Kind = "NoBundles"

	// Of a dependency.
	Excluded blocker.Kind = "Excluded" // its targets do not select the cluster
	NoBundle blocker.Kind = "NoBundle" // its Bundle does not exist
)
