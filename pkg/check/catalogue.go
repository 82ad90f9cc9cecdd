// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// Scope is what the findings of a check depend on: if nothing in it has changed, they are the same.
type Scope string

// The scopes, each one wider than the one before.
const (
	// OfDeployment is one bundle deployment with its objects, and the objects of Fleet to which it belongs.
	OfDeployment Scope = "deployment"
	// OfAggregate is one GitRepo, HelmOp, Bundle, Cluster or ClusterGroup with the bundle deployments below it.
	OfAggregate Scope = "aggregate"
	// OfCluster is one cluster that is read: all bundle deployments, releases and live objects there.
	OfCluster Scope = "cluster"
	OfAll     Scope = "all"
)

// row is an entry of the catalogue. A check with findings about several parts of the result has several rows.
type row struct {
	code  string
	scope Scope
	check func(*Input, *found)
}

// catalogue has the rows in the order of their codes.
var catalogue = []row{
	{codes.Missing, OfDeployment, objects(evaluate.Missing, (*Input).missing)},
	{codes.Unowned, OfCluster, objects(evaluate.Unowned, (*Input).unowned)},
	{codes.Contested, OfCluster, each((*Input).clusters, (*Input).contested)},
	{codes.Modified, OfDeployment, objects(evaluate.Modified, (*Input).modified)},
	{codes.Orphaned, OfCluster, each((*Input).deployments, (*Input).orphaned)},
	{codes.Abandoned, OfCluster, (*Input).abandoned},
	{codes.NotReady, OfDeployment, objects(evaluate.NotReady, (*Input).notReady)},
	{codes.IdMismatch, OfDeployment, objects(anyState, (*Input).idMismatch)},
	{codes.CopiedHash, OfCluster, (*Input).copiedHash},
	{codes.NamespaceMeta, OfDeployment, each((*Input).deployments, (*Input).namespaceMeta)},
	{codes.ExpiredJob, OfDeployment, objects(evaluate.Missing, (*Input).expiredJob)},
	{codes.DeploymentCounts, OfDeployment, each((*Input).deployments, (*Input).deploymentCounts)},
	{codes.BundleSummary, OfAggregate, each(aggregates(state.Bundle), bundleSummary.check)},
	{codes.RepoResources, OfAggregate, each(aggregates(state.GitRepo, state.HelmOp), repoResources.check)},
	{codes.RepoResources, OfAggregate, each(aggregates(state.GitRepo, state.HelmOp), (*Input).stickyList)},
	{codes.RepoClusters, OfAll, each(aggregates(state.GitRepo, state.HelmOp), repoClusters.check)},
	{codes.ClusterCounts, OfAll, each(aggregates(state.ClusterKind), clusterCounts.check)},
	{codes.GroupCounts, OfAggregate, each(aggregates(state.ClusterGroup), groupCounts.check)},
	{codes.Truncated, OfDeployment, each((*Input).deployments, (*Input).truncated)},
	{codes.Frozen, OfDeployment, each((*Input).deployments, (*Input).frozen)},
	{codes.Contradiction, OfDeployment, many((*Input).deployments, (*Input).contradictions)},
	{codes.Contradiction, OfAggregate, each(aggregates(above...), (*Input).contradictionAbove)},
	{codes.Leftover, OfDeployment, each((*Input).deployments, (*Input).leftover)},
	{codes.Absent, OfAll, (*Input).absent},
	{codes.Orphan, OfDeployment, each((*Input).deployments, (*Input).orphan)},
	{codes.Orphan, OfAll, each((*Input).bundles, (*Input).orphanedAgent)},
	{codes.Orphan, OfAll, (*Input).orphanedNamespaces},
	{codes.NoRepo, OfAggregate, one((*Input).bundles, (*Input).NoRepo)},
	{codes.NoTargets, OfAll, each((*Input).bundles, (*Input).noTargets)},
	{codes.TargetError, OfAll, (*Input).targetError},
	{codes.ValuesPending, OfDeployment, secrets((*Input).valuesPending)},
	{codes.ValuesPending, OfAggregate, each((*Input).bundleSecrets, (*Input).valuesPending)},
	{codes.ValuesMissing, OfDeployment, secrets((*Input).valuesMissing)},
	{codes.ValuesMismatch, OfDeployment, secrets((*Input).valuesMismatch)},
	{codes.BundleValues, OfAggregate, one((*Input).bundleSecrets, (*Input).brokenBundleValues)},
	{codes.ValuesLeftover, OfDeployment, secrets((*Input).valuesLeftover)},
	{codes.ValuesLeftover, OfAggregate, each((*Input).bundleSecrets, (*Input).valuesLeftover)},
	{codes.ValuesLeftover, OfAll, (*Input).ownerlessValues},
	{codes.CopyMissing, OfDeployment, (*Input).copyMissing},
	{codes.WillReimport, OfAggregate, each((*Input).agents, (*Input).willReimport)},
	{codes.AgentStale, OfAggregate, each((*Input).agents, (*Input).agentStale)},
	{codes.AgentNeverSeen, OfAggregate, each((*Input).agents, (*Input).agentNeverSeen)},
	{codes.ScopeUnproven, OfCluster, each((*Input).clusters, (*Input).scopeUnproven)},
	{codes.ContentMissing, OfAll, (*Input).contentMissing},
	{codes.ReleaseRecord, OfDeployment, each((*Input).deployments, (*Input).releaseRecord)},
	{codes.ReleaseRecord, OfCluster, each((*Input).clusters, (*Input).fleetsReleases)},
	{codes.StuckDeletion, OfAll, (*Input).stuckDeletion},
	{codes.NotApplied, OfCluster, (*Input).notApplied},
	{codes.RepoNotFollowed, OfAggregate, many(subjects(state.GitRepo), (*Input).NotFollowed)},
	{codes.LeftoverRelease, OfCluster, each((*Input).clusters, (*Input).leftoverRelease)},
	{codes.Unread, OfDeployment, each((*Input).deployments, (*Input).unread)},
	{codes.Unread, OfCluster, (*Input).forbiddenRights},
	{codes.WillUninstall, OfCluster, (*Input).willUninstall},
	{codes.NotCorrected, OfDeployment, objects(evaluate.Modified, (*Input).notCorrected)},
	{codes.NotProcessed, OfAggregate, one(subjects(above...), (*Input).NotProcessed)},
	{codes.NotProcessed, OfAll, (*Input).switchedOff},
	{codes.ReportedNotReady, OfDeployment, each((*Input).deployments, (*Input).reportedNotReady)},
	{codes.ScaledOutside, OfDeployment, objects(anyState, (*Input).scaledOutside)},
	{codes.WaitsForPause, OfAll, (*Input).waitsForPause},
	{codes.DeployedNowhere, OfAll, one(subjects(state.Bundle, state.GitRepo, state.HelmOp), (*Input).DeployedNowhere)},
	{codes.SecretInStatus, OfDeployment, each((*Input).deployments, (*Input).secretInStatus)},
	{codes.SecretInStatus, OfAggregate, each(aggregates(above...), (*Input).secretInSummary)},
	{codes.ComparePatch, OfAll, (*Input).comparePatch},
	{codes.LargeBundle, OfAggregate, each((*Input).bundles, (*Input).largeBundle)},
	{codes.Hazard, OfAggregate, each((*Input).bundles, (*Input).hazard)},
	{codes.Hazard, OfDeployment, each((*Input).deployments, (*Input).misplaced)},
	{codes.Unconfirmed, OfDeployment, each((*Input).deployments, (*Input).unconfirmed)},
}

// Check is a code of the catalogue with what users read about it.
type Check struct {
	Code string
	codes.Text
}

// Catalogue lists the checks in the order of their codes. The tests prove that each code has a text.
func Catalogue() []Check { return slices.Clone(checks()) }

var checks = sync.OnceValue(func() []Check {
	var out []Check
	for _, r := range catalogue {
		if n := len(out); n > 0 && out[n-1].Code == r.code {
			continue
		}
		text, err := codes.TextOf(r.code)
		if err != nil {
			text = codes.Text{}
		}
		out = append(out, Check{r.code, text})
	}
	return out
})
