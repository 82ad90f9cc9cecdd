// SPDX-License-Identifier: Apache-2.0

package exported

import (
	"cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// levels are the names in the metrics of the kinds above the bundle deployments.
var levels = map[string]string{state.GitRepo: "gitrepo", state.HelmOp: "helmop", state.Bundle: "bundle",
	state.ClusterKind: "cluster", state.ClusterGroup: "cluster_group"}

// aggregateKey identifies an object above the bundle deployments.
type aggregateKey struct{ kind, namespace, name string }

func (k aggregateKey) compare(o aggregateKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

// aggregate has the totals that one auditor exports.
type aggregate struct {
	actual   *report.Actual
	reported *report.Reported
}

func (a *aggregate) addActual(number string, s series) {
	if a.actual == nil {
		a.actual = &report.Actual{}
	}
	switch number {
	case "desired_objects":
		a.actual.Counts.Desired = s.value
	case "objects":
		addCount(&a.actual.Counts, report.State(s.of("state")), s.value)
	case "bundledeployments":
		a.actual.BundleDeployments = s.value
	case "ready_bundledeployments":
		a.actual.ReadyBundleDeployments = s.value
	}
}

func (a *aggregate) addReported(number string, s series) {
	if a.reported == nil {
		a.reported = &report.Reported{}
	}
	switch number {
	case "desired_objects":
		addDesired(a.reported, s.value)
	case "objects":
		addReported(a.reported, report.State(s.of("state")), s.value)
	case "bundledeployments":
		a.reported.BundleDeployments = &s.value
	case "ready_bundledeployments":
		a.reported.ReadyBundleDeployments = &s.value
	}
}
