// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/texts"
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
	{code: "FD101", scope: OfDeployment, object: ofState(evaluate.Missing, (*pass).missing)},
	{code: "FD102", scope: OfCluster, object: ofState(evaluate.Unowned, (*pass).unowned)},
	{code: "FD103", scope: OfCluster, cluster: (*pass).contested},
	{code: "FD104", scope: OfDeployment, object: ofState(evaluate.Modified, (*pass).modified)},
	{code: "FD105", scope: OfCluster, deployment: (*pass).orphaned},
	{code: "FD106", scope: OfCluster, all: (*pass).abandoned},
	{code: "FD107", scope: OfDeployment, object: ofState(evaluate.NotReady, (*pass).notReady)},
	{code: "FD108", scope: OfDeployment, object: (*pass).idMismatch},
	{code: "FD109", scope: OfCluster, all: (*pass).copiedHash},
	{code: "FD110", scope: OfDeployment, deployment: (*pass).namespaceMeta},
	{code: "FD111", scope: OfDeployment, object: ofState(evaluate.Missing, (*pass).expiredJob)},
	{code: "FD201", scope: OfDeployment, deployment: (*pass).deploymentCounts},
	{code: "FD202", scope: OfAggregate, kinds: bundles, aggregate: bundleSummary.check},
	{code: "FD203", scope: OfAggregate, kinds: repos, aggregate: repoResources.check},
	{code: "FD203", scope: OfAggregate, kinds: repos, aggregate: (*pass).stickyList},
	{code: "FD204", scope: OfAll, kinds: repos, aggregate: repoClusters.check},
	{code: "FD205", scope: OfAll, kinds: clusters, aggregate: clusterCounts.check},
	{code: "FD206", scope: OfAggregate, kinds: groups, aggregate: groupCounts.check},
	{code: "FD207", scope: OfDeployment, deployment: (*pass).truncated},
	{code: "FD208", scope: OfDeployment, deployment: (*pass).frozen},
	{code: "FD209", scope: OfDeployment, deployment: (*pass).contradiction},
	{code: "FD209", scope: OfAggregate, kinds: above, aggregate: (*pass).contradictionAbove},
	{code: "FD301", scope: OfDeployment, deployment: (*pass).leftover},
	{code: "FD302", scope: OfAll, all: (*pass).absent},
	{code: "FD303", scope: OfDeployment, deployment: (*pass).orphan},
	{code: "FD303", scope: OfAll, bundle: (*pass).orphanedAgent},
	{code: "FD303", scope: OfAll, all: (*pass).orphanedNamespaces},
	{code: "FD304", scope: OfAggregate, bundle: (*pass).noRepo},
	{code: "FD305", scope: OfAll, bundle: (*pass).noTargets},
	{code: "FD306", scope: OfAll, all: (*pass).targetError},
	{code: "FD401", scope: OfDeployment, values: (*pass).valuesPending},
	{code: "FD401", scope: OfAggregate, bundleValues: (*pass).valuesPending},
	{code: "FD402", scope: OfDeployment, values: (*pass).valuesMissing},
	{code: "FD403", scope: OfDeployment, values: (*pass).valuesMismatch},
	{code: "FD404", scope: OfAggregate, bundleValues: (*pass).bundleValues},
	{code: "FD405", scope: OfDeployment, values: (*pass).valuesLeftover},
	{code: "FD405", scope: OfAggregate, bundleValues: (*pass).valuesLeftover},
	{code: "FD405", scope: OfAll, all: (*pass).ownerlessValues},
	{code: "FD406", scope: OfDeployment, all: (*pass).copyMissing},
	{code: "FD501", scope: OfAggregate, agent: (*pass).willReimport},
	{code: "FD502", scope: OfAggregate, agent: (*pass).agentStale},
	{code: "FD503", scope: OfAggregate, agent: (*pass).agentNeverSeen},
	{code: "FD504", scope: OfCluster, cluster: (*pass).scopeUnproven},
	{code: "FD601", scope: OfAll, all: (*pass).contentMissing},
	{code: "FD602", scope: OfDeployment, deployment: (*pass).releaseRecord},
	{code: "FD602", scope: OfCluster, cluster: (*pass).fleetsReleases},
	{code: "FD603", scope: OfAll, all: (*pass).stuckDeletion},
	{code: "FD604", scope: OfCluster, all: (*pass).notApplied},
	{code: "FD605", scope: OfAggregate, kinds: gitRepos, aggregate: (*pass).repoNotFollowed},
	{code: "FD606", scope: OfCluster, cluster: (*pass).leftoverRelease},
	{code: CodeUnread, scope: OfDeployment, deployment: (*pass).unread},
	{code: CodeUnread, scope: OfCluster, all: (*pass).forbiddenRights},
	{code: "FD608", scope: OfCluster, all: (*pass).willUninstall},
	{code: "FD609", scope: OfDeployment, object: ofState(evaluate.Modified, (*pass).notCorrected)},
	{code: CodeNotProcessed, scope: OfAggregate, kinds: above, aggregate: (*pass).notProcessed},
	{code: CodeNotProcessed, scope: OfAll, all: (*pass).switchedOff},
	{code: "FD611", scope: OfDeployment, deployment: (*pass).reportedNotReady},
	{code: "FD612", scope: OfDeployment, object: (*pass).scaledOutside},
	{code: "FD613", scope: OfAll, all: (*pass).waitsForPause},
	{code: "FD614", scope: OfAll, kinds: sources, aggregate: (*pass).deployedNowhere},
	{code: "FD701", scope: OfDeployment, deployment: (*pass).secretInStatus},
	{code: "FD701", scope: OfAggregate, kinds: above, aggregate: (*pass).secretInSummary},
	{code: "FD702", scope: OfAll, all: (*pass).comparePatch},
	{code: "FD703", scope: OfAggregate, bundle: (*pass).largeBundle},
	{code: "FD704", scope: OfAggregate, bundle: (*pass).hazard},
	{code: "FD704", scope: OfDeployment, deployment: (*pass).misplaced},
	{code: "FD705", scope: OfDeployment, deployment: (*pass).unconfirmed},
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
	texts.Text
}

// Catalogue lists the checks in the order of their codes. The tests prove that each code has a text.
func Catalogue() []Check { return slices.Clone(checks()) }

var checks = sync.OnceValue(func() []Check {
	var out []Check
	for _, r := range catalogue {
		if n := len(out); n > 0 && out[n-1].Code == r.code {
			continue
		}
		text, err := texts.Of(r.code)
		if err != nil {
			text = texts.Text{}
		}
		out = append(out, Check{r.code, text})
	}
	return out
})
