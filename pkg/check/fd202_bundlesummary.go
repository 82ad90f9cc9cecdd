// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

var bundleSummary = Check{
	Code: "FD202", Name: "BundleSummary", Severity: Warning,
	Title: "a Bundle reports another number of ready bundle deployments than it has",
	run: func(in *Input, report func(Finding)) {
		for _, a := range in.Tree[state.Bundle] {
			in.checkBundle(a, report)
		}
	},
}

func (in *Input) checkBundle(a *evaluate.Aggregate, report func(Finding)) {
	p, ok := in.partsOf(a)
	if !ok || !written(a) || len(p.actual) == 0 {
		return
	}
	reported, expected, actual := *a.Object.Reported().Summary, fleet.Summarize(p.reported), fleet.Summarize(p.actual)
	// Its targets are not its deployments if one of them is left over, absent or being deleted.
	if reported.DesiredReady-reported.Pending != actual.DesiredReady {
		if reported.Ready <= actual.Ready {
			return
		}
		p.quiet = false
	}
	expected.DesiredReady, actual.DesiredReady = reported.DesiredReady, reported.DesiredReady
	in.reportWrong(newTotals(a, "bundle ", &p), wrongSummary(&reported, expected, actual),
		Finding{Remedies: in.describe(a)}, report)
}

// describe shows the conditions and events of an aggregate.
func (in *Input) describe(a *evaluate.Aggregate) []remedy.Remedy {
	return []remedy.Remedy{in.Commands.Describe(facts.RefOf(a))}
}
