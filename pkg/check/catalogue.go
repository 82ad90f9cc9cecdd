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

	object     func(*pass, *evaluate.BundleDeployment, *evaluate.Object)
	deployment func(*pass, *evaluate.BundleDeployment)
	// values is called for BundleDeployments with the state of their values Secret, bundleValues for Bundles.
	values, bundleValues func(*pass, *valuesOwner)
	// bundle is called for the Bundles in scope that are not being deleted.
	bundle func(*pass, *v1alpha1.Bundle)
	// aggregate is called for the aggregates of these kinds that are in scope.
	aggregate func(*pass, *evaluate.Aggregate)
	kinds     []string
	agent     func(*pass, evaluate.Agent)
	cluster   func(*pass, *directory.Cluster)
	all       func(*pass)
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
	{code: codes.Missing, scope: OfDeployment, object: ofState(evaluate.Missing, (*pass).missing)},
	{code: codes.Unowned, scope: OfCluster, object: ofState(evaluate.Unowned, (*pass).unowned)},
	{code: codes.Contested, scope: OfCluster, cluster: (*pass).contested},
	{code: codes.Modified, scope: OfDeployment, object: ofState(evaluate.Modified, (*pass).modified)},
	{code: codes.Orphaned, scope: OfCluster, deployment: (*pass).orphaned},
	{code: codes.Abandoned, scope: OfCluster, all: (*pass).abandoned},
	{code: codes.NotReady, scope: OfDeployment, object: ofState(evaluate.NotReady, (*pass).notReady)},
	{code: codes.IdMismatch, scope: OfDeployment, object: (*pass).idMismatch},
	{code: codes.CopiedHash, scope: OfCluster, all: (*pass).copiedHash},
	{code: codes.NamespaceMeta, scope: OfDeployment, deployment: (*pass).namespaceMeta},
	{code: codes.ExpiredJob, scope: OfDeployment, object: ofState(evaluate.Missing, (*pass).expiredJob)},
	{code: codes.DeploymentCounts, scope: OfDeployment, deployment: (*pass).deploymentCounts},
	{code: codes.BundleSummary, scope: OfAggregate, kinds: bundles, aggregate: bundleSummary.check},
	{code: codes.RepoResources, scope: OfAggregate, kinds: repos, aggregate: repoResources.check},
	{code: codes.RepoResources, scope: OfAggregate, kinds: repos, aggregate: (*pass).stickyList},
	{code: codes.RepoClusters, scope: OfAll, kinds: repos, aggregate: repoClusters.check},
	{code: codes.ClusterCounts, scope: OfAll, kinds: clusters, aggregate: clusterCounts.check},
	{code: codes.GroupCounts, scope: OfAggregate, kinds: groups, aggregate: groupCounts.check},
	{code: codes.Truncated, scope: OfDeployment, deployment: (*pass).truncated},
	{code: codes.Frozen, scope: OfDeployment, deployment: (*pass).frozen},
	{code: codes.Contradiction, scope: OfDeployment, deployment: (*pass).contradiction},
	{code: codes.Contradiction, scope: OfAggregate, kinds: above, aggregate: (*pass).contradictionAbove},
	{code: codes.Leftover, scope: OfDeployment, deployment: (*pass).leftover},
	{code: codes.Absent, scope: OfAll, all: (*pass).absent},
	{code: codes.Orphan, scope: OfDeployment, deployment: (*pass).orphan},
	{code: codes.Orphan, scope: OfAll, bundle: (*pass).orphanedAgent},
	{code: codes.Orphan, scope: OfAll, all: (*pass).orphanedNamespaces},
	{code: codes.NoRepo, scope: OfAggregate, bundle: (*pass).noRepo},
	{code: codes.NoTargets, scope: OfAll, bundle: (*pass).noTargets},
	{code: codes.TargetError, scope: OfAll, all: (*pass).targetError},
	{code: codes.ValuesPending, scope: OfDeployment, values: (*pass).valuesPending},
	{code: codes.ValuesPending, scope: OfAggregate, bundleValues: (*pass).valuesPending},
	{code: codes.ValuesMissing, scope: OfDeployment, values: (*pass).valuesMissing},
	{code: codes.ValuesMismatch, scope: OfDeployment, values: (*pass).valuesMismatch},
	{code: codes.BundleValues, scope: OfAggregate, bundleValues: (*pass).bundleValues},
	{code: codes.ValuesLeftover, scope: OfDeployment, values: (*pass).valuesLeftover},
	{code: codes.ValuesLeftover, scope: OfAggregate, bundleValues: (*pass).valuesLeftover},
	{code: codes.ValuesLeftover, scope: OfAll, all: (*pass).ownerlessValues},
	{code: codes.CopyMissing, scope: OfDeployment, all: (*pass).copyMissing},
	{code: codes.WillReimport, scope: OfAggregate, agent: (*pass).willReimport},
	{code: codes.AgentStale, scope: OfAggregate, agent: (*pass).agentStale},
	{code: codes.AgentNeverSeen, scope: OfAggregate, agent: (*pass).agentNeverSeen},
	{code: codes.ScopeUnproven, scope: OfCluster, cluster: (*pass).scopeUnproven},
	{code: codes.ContentMissing, scope: OfAll, all: (*pass).contentMissing},
	{code: codes.ReleaseRecord, scope: OfDeployment, deployment: (*pass).releaseRecord},
	{code: codes.ReleaseRecord, scope: OfCluster, cluster: (*pass).fleetsReleases},
	{code: codes.StuckDeletion, scope: OfAll, all: (*pass).stuckDeletion},
	{code: codes.NotApplied, scope: OfCluster, all: (*pass).notApplied},
	{code: codes.RepoNotFollowed, scope: OfAggregate, kinds: gitRepos, aggregate: (*pass).repoNotFollowed},
	{code: codes.LeftoverRelease, scope: OfCluster, cluster: (*pass).leftoverRelease},
	{code: codes.Unread, scope: OfDeployment, deployment: (*pass).unread},
	{code: codes.Unread, scope: OfCluster, all: (*pass).forbiddenRights},
	{code: codes.WillUninstall, scope: OfCluster, all: (*pass).willUninstall},
	{code: codes.NotCorrected, scope: OfDeployment, object: ofState(evaluate.Modified, (*pass).notCorrected)},
	{code: codes.NotProcessed, scope: OfAggregate, kinds: above, aggregate: (*pass).notProcessed},
	{code: codes.NotProcessed, scope: OfAll, all: (*pass).switchedOff},
	{code: codes.ReportedNotReady, scope: OfDeployment, deployment: (*pass).reportedNotReady},
	{code: codes.ScaledOutside, scope: OfDeployment, object: (*pass).scaledOutside},
	{code: codes.WaitsForPause, scope: OfAll, all: (*pass).waitsForPause},
	{code: codes.DeployedNowhere, scope: OfAll, kinds: sources, aggregate: (*pass).deployedNowhere},
	{code: codes.SecretInStatus, scope: OfDeployment, deployment: (*pass).secretInStatus},
	{code: codes.SecretInStatus, scope: OfAggregate, kinds: above, aggregate: (*pass).secretInSummary},
	{code: codes.ComparePatch, scope: OfAll, all: (*pass).comparePatch},
	{code: codes.LargeBundle, scope: OfAggregate, bundle: (*pass).largeBundle},
	{code: codes.Hazard, scope: OfAggregate, bundle: (*pass).hazard},
	{code: codes.Hazard, scope: OfDeployment, deployment: (*pass).misplaced},
	{code: codes.Unconfirmed, scope: OfDeployment, deployment: (*pass).unconfirmed},
}

// ofState limits the check of an object to those in a state.
func ofState(s evaluate.State, check func(*pass, *evaluate.BundleDeployment, *evaluate.Object),
) func(*pass, *evaluate.BundleDeployment, *evaluate.Object) {
	return func(in *pass, d *evaluate.BundleDeployment, o *evaluate.Object) {
		if o.State == s {
			check(in, d, o)
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
