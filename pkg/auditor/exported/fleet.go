// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/auditor/view"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// SourceKind is the kind of the source of a report that is made from metrics.
const SourceKind = "metrics"

// fleet is what all auditors export, and the report that is made from it.
type fleet struct {
	now     time.Time
	server  string
	targets []*target
	out     *report.Audit

	gaps []source.Gap

	// known are the bundle deployments that any auditor exports.
	known map[deploymentKey]*known
	// used are the auditors whose states are in the report, with the clusters that they evaluate.
	used map[*target]map[string]bool
	// counts are the auditors whose words count for at least one bundle deployment.
	counts map[*target]bool
	// unread are the bundle deployments without a state, by their cluster.
	unread map[string][]deploymentKey
	found  map[foundKey]bool
}

// known is what is known of a bundle deployment.
type known struct {
	exporters []*target
	// evaluator reads its cluster. reporter is the auditor of the management cluster, which knows what Fleet reports.
	evaluator, reporter choice[deployment]
	shown               *report.BundleDeployment
}

// foundKey identifies the findings of one series.
type foundKey struct {
	code, cluster, bundleDeployment string
	object                          object.Ref
}

func (f *fleet) addDeployments() {
	for _, t := range f.targets {
		for k := range t.deployments {
			if f.known[k] == nil {
				f.known[k] = &known{}
			}
			f.known[k].exporters = append(f.known[k].exporters, t)
		}
	}
	keys := slices.SortedFunc(maps.Keys(f.known), deploymentKey.compare)
	f.out.BundleDeployments = make([]report.BundleDeployment, len(keys))
	for i, k := range keys {
		x := f.known[k]
		x.choose(k, f.now)
		f.counts[x.evaluator.target], f.counts[x.reporter.target] = true, true
		x.shown = &f.out.BundleDeployments[i]
		*x.shown = f.deployment(k, x)
	}
}

// choose sets the auditors that count.
func (x *known) choose(k deploymentKey, now time.Time) {
	x.evaluator = choose(x.exporters, now, func(t *target) *deployment {
		if d := t.deployments[k]; d.evaluated() {
			return d
		}
		return nil
	}, func(x, y *deployment) bool { return x.state == y.state && x.counts == y.counts })
	x.reporter = choose(x.exporters, now, func(t *target) *deployment {
		if !t.manages() {
			return nil
		}
		return t.deployments[k]
	}, func(x, y *deployment) bool { return reflect.DeepEqual(x.reported, y.reported) })
}

// deployment joins what the auditors export of a bundle deployment.
func (f *fleet) deployment(k deploymentKey, x *known) report.BundleDeployment {
	out := report.BundleDeployment{Namespace: k.namespace, Name: k.name, State: report.Unknown,
		Reason: string(source.ReadFailed), Resources: []report.Resource{}}
	for _, t := range x.exporters {
		d := t.deployments[k]
		out.Cluster, out.Bundle = cmp.Or(out.Cluster, d.cluster), cmp.Or(out.Bundle, d.bundle)
		out.GitRepo = cmp.Or(out.GitRepo, d.gitRepo)
	}
	out.Cluster = cmp.Or(out.Cluster, k.namespace, k.on)
	on, reporter := x.evaluator, x.reporter
	managed := reporter.of != nil && !reporter.contradicted
	if managed {
		out.Reported = reporter.of.reported
	}
	if on.of == nil || on.contradicted || !on.of.complete() {
		f.unread[out.Cluster] = append(f.unread[out.Cluster], k)
		return out
	}
	if f.used[on.target] == nil {
		f.used[on.target] = map[string]bool{}
	}
	f.used[on.target][out.Cluster] = true
	d := on.of
	out.State, out.Reason, out.Counts, out.Resources = d.state, d.reason, d.counts, append(out.Resources, d.objects...)
	slices.SortFunc(out.Resources, func(x, y report.Resource) int { return x.Compare(y.Ref) })
	if managed && reporter.of.pending && on.target != reporter.target {
		out.State = waiting(reporter.of)
	}
	return out
}

// waiting is the state of a bundle deployment whose agent has not applied what the controller requests. Only the
// management cluster knows that.
func waiting(d *deployment) report.State {
	if d.reported != nil && d.reported.State == string(report.ErrApplied) {
		return report.ErrApplied
	}
	return report.WaitApplied
}

// addAggregates adds the objects above the bundle deployments, which only the management cluster has.
func (f *fleet) addAggregates() {
	all := map[aggregateKey]bool{}
	for _, t := range f.targets {
		for k := range t.aggregates {
			all[k] = true
		}
	}
	lists := map[string]*[]report.Aggregate{state.GitRepo: &f.out.GitRepos, state.HelmOp: &f.out.HelmOps,
		state.Bundle: &f.out.Bundles, state.ClusterKind: &f.out.Clusters, state.ClusterGroup: &f.out.ClusterGroups}
	sums := f.sums()
	for _, k := range slices.SortedFunc(maps.Keys(all), aggregateKey.compare) {
		c := choose(f.targets, f.now, func(t *target) *aggregate { return t.aggregates[k] },
			func(x, y *aggregate) bool { return reflect.DeepEqual(x, y) })
		x := report.Aggregate{Namespace: k.namespace, Name: k.name}
		if c.of != nil && !c.contradicted {
			x.Reported, x.Actual = c.of.reported, c.of.actual
			if x.Actual == nil {
				x.Actual = sums[k]
			}
		}
		*lists[k.kind] = append(*lists[k.kind], x)
	}
}

// sums returns the totals of the GitRepos, Bundles and Clusters of which all bundle deployments have a result.
func (f *fleet) sums() map[aggregateKey]*report.Actual {
	out, unknown := map[aggregateKey]*report.Actual{}, map[aggregateKey]bool{}
	for i := range f.out.BundleDeployments {
		bd := &f.out.BundleDeployments[i]
		for kind, name := range map[string]string{state.GitRepo: bd.GitRepo, state.Bundle: bd.Bundle,
			state.ClusterKind: bd.Cluster} {
			k := aggregateKey{kind: kind}
			k.namespace, k.name = view.Split(name)
			if out[k] == nil {
				out[k] = &report.Actual{}
			}
			sum := out[k]
			sum.BundleDeployments++
			sum.ReadyBundleDeployments += number(bd.State == report.Ready)
			sum.Counts = sum.Counts.Plus(bd.Counts)
			unknown[k] = unknown[k] || bd.WithoutResult()
		}
	}
	maps.DeleteFunc(out, func(k aggregateKey, _ *report.Actual) bool { return unknown[k] })
	return out
}
