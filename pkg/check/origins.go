// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// originsAt returns the findings of these codes about a bundle deployment.
func originsAt(d *directory.Deployment, all ...string) []Origin {
	var out []Origin
	for _, code := range all {
		out = append(out, Origin{Code: code, Cluster: d.Cluster, BundleDeployment: d.Key()})
	}
	return out
}

// notReadyOrigins returns the findings for which a bundle deployment is not ready.
func notReadyOrigins(d *directory.Deployment) []Origin {
	return originsAt(d, codes.Missing, codes.NotReady, codes.Modified, codes.Unowned, codes.Orphaned)
}

// nowhereOrigins returns the findings that a Bundle is one of those of which none reaches a cluster.
func nowhereOrigins(b *v1alpha1.Bundle) []Origin {
	if repo, ok := facts.RepoOf(b); ok {
		return []Origin{{Code: codes.DeployedNowhere, Object: repo}}
	}
	return []Origin{{Code: codes.DeployedNowhere, Object: facts.RefTo(b)}}
}

// silentOrigins returns the findings for which the agent of a Cluster does not report.
func silentOrigins(c *v1alpha1.Cluster) []Origin {
	var out []Origin
	for _, code := range []string{codes.NotProcessed, codes.AgentStale, codes.AgentNeverSeen} {
		out = append(out, Origin{Code: code, Cluster: facts.Key(c), Object: facts.RefTo(c)})
	}
	return out
}
