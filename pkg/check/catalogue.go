// SPDX-License-Identifier: Apache-2.0

// Package check turns the result of an evaluation into findings. There is one file for each check, with its stable
// code. The documentation is generated from the catalogue of the checks. A check is a pure function of the Input.
package check

import (
	"slices"
	"sync"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
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
	{codes.IDMismatch, OfDeployment, objects(anyState, (*Input).idMismatch)},
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
		text, _ := codes.TextOf(r.code)
		out = append(out, Check{r.code, text})
	}
	return out
})

// Run runs the checks of the scopes, of all scopes if it is called with none. It returns their findings in the order of
// the codes.
func Run(in *Input, scopes ...Scope) []Finding {
	var out []Finding
	for _, r := range catalogue {
		if len(scopes) > 0 && !slices.Contains(scopes, r.scope) {
			continue
		}
		var reported found
		r.check(in, &reported)
		for _, f := range reported.findings {
			out = append(out, in.as(f, r.code))
		}
	}
	return out
}

// as returns a finding with a code and what the catalogue has for it.
func (in *Input) as(f Finding, code string) Finding {
	check := checks()[slices.IndexFunc(checks(), func(c Check) bool { return c.Code == code })]
	f.Code, f.Severity, f.Urgency, f.Title = check.Code, check.Severity, check.Urgency, check.Title
	f.Remedies = slices.Clone(f.Remedies)
	in.addSteps(&f)
	for i := range f.Remedies {
		f.Remedies[i].URL = URL(f.Code)
	}
	return f
}

// each calls a check for each of some parts of the result.
func each[T any](parts func(*Input) []T, check func(*Input, *found, T)) func(*Input, *found) {
	return func(in *Input, out *found) {
		for _, part := range parts(in) {
			check(in, out, part)
		}
	}
}

// one is each for a check that returns its finding, if it has one.
func one[T any](parts func(*Input) []T, check func(*Input, T) (Finding, bool)) func(*Input, *found) {
	return each(parts, func(in *Input, out *found, part T) { out.reportIf(check(in, part)) })
}

// many is each for a check that returns its findings.
func many[T any](parts func(*Input) []T, check func(*Input, T) []Finding) func(*Input, *found) {
	return each(parts, func(in *Input, out *found, part T) {
		out.findings = append(out.findings, check(in, part)...)
	})
}

// anyState is for checks of objects in all states.
const anyState evaluate.State = ""

// objects calls a check for each object in a state.
func objects(is evaluate.State, check func(*Input, *found, *evaluate.BundleDeployment, *evaluate.Object),
) func(*Input, *found) {
	return each((*Input).deployments, func(in *Input, out *found, d *evaluate.BundleDeployment) {
		for i := range d.Objects {
			if is == anyState || d.Objects[i].State == is {
				check(in, out, d, &d.Objects[i])
			}
		}
	})
}

// secrets calls a check for each BundleDeployment with the state of its values Secret.
func secrets(check func(*Input, *found, *valuesOwner)) func(*Input, *found) {
	return each((*Input).deployments, func(in *Input, out *found, d *evaluate.BundleDeployment) {
		if d.BD != nil {
			check(in, out, in.valuesOf(d))
		}
	})
}

func (in *Input) deployments() []*evaluate.BundleDeployment { return in.Result.Deployments }

func (in *Input) clusters() []*directory.Cluster { return in.Result.Desired.Clusters }

// agents are those of the Clusters in scope.
func (in *Input) agents() []evaluate.Agent {
	return slices.DeleteFunc(slices.Clone(in.Facts.Agents()), func(a evaluate.Agent) bool {
		return !in.Result.Includes(state.ClusterKind, a.Cluster)
	})
}

// bundleSecrets are the Bundles with the state of their values Secrets. The values of a HelmOp are in its Bundle.
func (in *Input) bundleSecrets() []*valuesOwner {
	var out []*valuesOwner
	for _, a := range in.Result.Tree[state.Bundle] {
		b, ok := a.Object.(*v1alpha1.Bundle)
		if partly := a.InScope || len(a.BundleDeployments) > 0; ok && partly && !ofHelmOp(b) {
			out = append(out, in.valuesOfBundle(b))
		}
	}
	return out
}

// bundles are the Bundles in scope that are not being deleted.
func (in *Input) bundles() []*v1alpha1.Bundle {
	var out []*v1alpha1.Bundle
	for _, o := range subjects(state.Bundle)(in) {
		if b, ok := o.(*v1alpha1.Bundle); ok && !facts.Deleting(b) {
			out = append(out, b)
		}
	}
	return out
}

// above are the kinds of aggregates.
var above = []string{state.Bundle, state.GitRepo, state.HelmOp, state.ClusterKind, state.ClusterGroup}

// aggregates returns a function that lists those of some kinds that are in scope.
func aggregates(kinds ...string) func(*Input) []*evaluate.Aggregate {
	return func(in *Input) []*evaluate.Aggregate {
		var out []*evaluate.Aggregate
		for _, kind := range kinds {
			for _, a := range in.Result.Tree[kind] {
				if a.InScope {
					out = append(out, a)
				}
			}
		}
		return out
	}
}

// subjects returns a function that lists the objects of aggregates.
func subjects(kinds ...string) func(*Input) []v1alpha1.Object {
	return func(in *Input) []v1alpha1.Object {
		var out []v1alpha1.Object
		for _, a := range aggregates(kinds...)(in) {
			out = append(out, a.Object)
		}
		return out
	}
}
