// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
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

// row is an entry of the catalogue. Its function is called for each part of the result that the field names. A check
// with findings about several parts has several rows.
type row struct {
	code  string
	scope Scope

	object     func(*Input, *found, *evaluate.BundleDeployment, *evaluate.Object)
	deployment func(*Input, *found, *evaluate.BundleDeployment)
	// values is called for BundleDeployments with the state of their values Secret, bundleValues for Bundles.
	values, bundleValues func(*Input, *found, *valuesOwner)
	// bundle is called for the Bundles in scope that are not being deleted.
	bundle func(*Input, *found, *v1alpha1.Bundle)
	// aggregate is called for the aggregates of these kinds that are in scope.
	aggregate func(*Input, *found, *evaluate.Aggregate)
	kinds     []string
	agent     func(*Input, *found, evaluate.Agent)
	cluster   func(*Input, *found, *directory.Cluster)
	all       func(*Input, *found)
}

// above are the kinds of aggregates.
var above = []string{state.Bundle, state.GitRepo, state.HelmOp, state.ClusterKind, state.ClusterGroup}

var (
	repos    = []string{state.GitRepo, state.HelmOp}
	sources  = []string{state.GitRepo, state.HelmOp, state.Bundle}
	gitRepos = []string{state.GitRepo}
	bundles  = []string{state.Bundle}
	clusters = []string{state.ClusterKind}
	groups   = []string{state.ClusterGroup}
)

// catalogue has the rows in the order of their codes.
var catalogue = []row{
	{code: codes.Missing, scope: OfDeployment, object: ofState(evaluate.Missing, (*Input).missing)},
	{code: codes.Unowned, scope: OfCluster, object: ofState(evaluate.Unowned, (*Input).unowned)},
	{code: codes.Contested, scope: OfCluster, cluster: (*Input).contested},
	{code: codes.Modified, scope: OfDeployment, object: ofState(evaluate.Modified, (*Input).modified)},
	{code: codes.Orphaned, scope: OfCluster, deployment: (*Input).orphaned},
	{code: codes.Abandoned, scope: OfCluster, all: (*Input).abandoned},
	{code: codes.NotReady, scope: OfDeployment, object: ofState(evaluate.NotReady, (*Input).notReady)},
	{code: codes.IdMismatch, scope: OfDeployment, object: (*Input).idMismatch},
	{code: codes.CopiedHash, scope: OfCluster, all: (*Input).copiedHash},
	{code: codes.NamespaceMeta, scope: OfDeployment, deployment: (*Input).namespaceMeta},
	{code: codes.ExpiredJob, scope: OfDeployment, object: ofState(evaluate.Missing, (*Input).expiredJob)},
	{code: codes.DeploymentCounts, scope: OfDeployment, deployment: (*Input).deploymentCounts},
	{code: codes.BundleSummary, scope: OfAggregate, kinds: bundles, aggregate: bundleSummary.check},
	{code: codes.RepoResources, scope: OfAggregate, kinds: repos, aggregate: repoResources.check},
	{code: codes.RepoResources, scope: OfAggregate, kinds: repos, aggregate: (*Input).stickyList},
	{code: codes.RepoClusters, scope: OfAll, kinds: repos, aggregate: repoClusters.check},
	{code: codes.ClusterCounts, scope: OfAll, kinds: clusters, aggregate: clusterCounts.check},
	{code: codes.GroupCounts, scope: OfAggregate, kinds: groups, aggregate: groupCounts.check},
	{code: codes.Truncated, scope: OfDeployment, deployment: (*Input).truncated},
	{code: codes.Frozen, scope: OfDeployment, deployment: (*Input).frozen},
	{code: codes.Contradiction, scope: OfDeployment, deployment: (*Input).contradiction},
	{code: codes.Contradiction, scope: OfAggregate, kinds: above, aggregate: (*Input).contradictionAbove},
	{code: codes.Leftover, scope: OfDeployment, deployment: (*Input).leftover},
	{code: codes.Absent, scope: OfAll, all: (*Input).absent},
	{code: codes.Orphan, scope: OfDeployment, deployment: (*Input).orphan},
	{code: codes.Orphan, scope: OfAll, bundle: (*Input).orphanedAgent},
	{code: codes.Orphan, scope: OfAll, all: (*Input).orphanedNamespaces},
	{code: codes.NoRepo, scope: OfAggregate, bundle: (*Input).noRepo},
	{code: codes.NoTargets, scope: OfAll, bundle: (*Input).noTargets},
	{code: codes.TargetError, scope: OfAll, all: (*Input).targetError},
	{code: codes.ValuesPending, scope: OfDeployment, values: (*Input).valuesPending},
	{code: codes.ValuesPending, scope: OfAggregate, bundleValues: (*Input).valuesPending},
	{code: codes.ValuesMissing, scope: OfDeployment, values: (*Input).valuesMissing},
	{code: codes.ValuesMismatch, scope: OfDeployment, values: (*Input).valuesMismatch},
	{code: codes.BundleValues, scope: OfAggregate, bundleValues: (*Input).bundleValues},
	{code: codes.ValuesLeftover, scope: OfDeployment, values: (*Input).valuesLeftover},
	{code: codes.ValuesLeftover, scope: OfAggregate, bundleValues: (*Input).valuesLeftover},
	{code: codes.ValuesLeftover, scope: OfAll, all: (*Input).ownerlessValues},
	{code: codes.CopyMissing, scope: OfDeployment, all: (*Input).copyMissing},
	{code: codes.WillReimport, scope: OfAggregate, agent: (*Input).willReimport},
	{code: codes.AgentStale, scope: OfAggregate, agent: (*Input).agentStale},
	{code: codes.AgentNeverSeen, scope: OfAggregate, agent: (*Input).agentNeverSeen},
	{code: codes.ScopeUnproven, scope: OfCluster, cluster: (*Input).scopeUnproven},
	{code: codes.ContentMissing, scope: OfAll, all: (*Input).contentMissing},
	{code: codes.ReleaseRecord, scope: OfDeployment, deployment: (*Input).releaseRecord},
	{code: codes.ReleaseRecord, scope: OfCluster, cluster: (*Input).fleetsReleases},
	{code: codes.StuckDeletion, scope: OfAll, all: (*Input).stuckDeletion},
	{code: codes.NotApplied, scope: OfCluster, all: (*Input).notApplied},
	{code: codes.RepoNotFollowed, scope: OfAggregate, kinds: gitRepos, aggregate: (*Input).repoNotFollowed},
	{code: codes.LeftoverRelease, scope: OfCluster, cluster: (*Input).leftoverRelease},
	{code: codes.Unread, scope: OfDeployment, deployment: (*Input).unread},
	{code: codes.Unread, scope: OfCluster, all: (*Input).forbiddenRights},
	{code: codes.WillUninstall, scope: OfCluster, all: (*Input).willUninstall},
	{code: codes.NotCorrected, scope: OfDeployment, object: ofState(evaluate.Modified, (*Input).notCorrected)},
	{code: codes.NotProcessed, scope: OfAggregate, kinds: above, aggregate: (*Input).notProcessed},
	{code: codes.NotProcessed, scope: OfAll, all: (*Input).switchedOff},
	{code: codes.ReportedNotReady, scope: OfDeployment, deployment: (*Input).reportedNotReady},
	{code: codes.ScaledOutside, scope: OfDeployment, object: (*Input).scaledOutside},
	{code: codes.WaitsForPause, scope: OfAll, all: (*Input).waitsForPause},
	{code: codes.DeployedNowhere, scope: OfAll, kinds: sources, aggregate: (*Input).deployedNowhere},
	{code: codes.SecretInStatus, scope: OfDeployment, deployment: (*Input).secretInStatus},
	{code: codes.SecretInStatus, scope: OfAggregate, kinds: above, aggregate: (*Input).secretInSummary},
	{code: codes.ComparePatch, scope: OfAll, all: (*Input).comparePatch},
	{code: codes.LargeBundle, scope: OfAggregate, bundle: (*Input).largeBundle},
	{code: codes.Hazard, scope: OfAggregate, bundle: (*Input).hazard},
	{code: codes.Hazard, scope: OfDeployment, deployment: (*Input).misplaced},
	{code: codes.Unconfirmed, scope: OfDeployment, deployment: (*Input).unconfirmed},
}

// ofState limits the check of an object to those in a state.
func ofState(s evaluate.State, check func(*Input, *found, *evaluate.BundleDeployment, *evaluate.Object),
) func(*Input, *found, *evaluate.BundleDeployment, *evaluate.Object) {
	return func(in *Input, out *found, d *evaluate.BundleDeployment, o *evaluate.Object) {
		if o.State == s {
			check(in, out, d, o)
		}
	}
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
