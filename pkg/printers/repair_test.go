// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/owner"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/targets"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// planned is a plan of adoptions for the sample cluster "sick".
func planned(t *testing.T, o repair.Options) *report.Repair {
	t.Helper()
	return plannedAs(t, report.KindAdoptionPlan, o, func(found *audit.Audit) []repair.Item {
		items, _ := repair.Adoptions(found.Result, o)
		return items
	})
}

// plannedRepair is the plan of a repair of the sample cluster "sick".
func plannedRepair(t *testing.T) *report.Repair {
	t.Helper()
	o := repair.Options{Policy: ownership.IfUnowned}
	return plannedAs(t, report.KindRepairPlan, o, func(found *audit.Audit) []repair.Item {
		items, _ := repair.Plan(found.Result, found.Findings, o)
		return items
	})
}

func plannedAs(t *testing.T, kind string, o repair.Options, plan func(*audit.Audit) []repair.Item) *report.Repair {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands, Version: "test", Predict: true})
	if err != nil {
		t.Fatal(err)
	}
	a := &report.Repair{
		Head: report.Head{Kind: kind, TakenAt: "2026-11-20T07:47:35Z",
			Tool: report.Tool{Version: "test"}, Source: report.Source{Kind: "snapshot", Path: "test/testdata/sick"}},
		Policy: string(o.Policy)}
	for _, i := range plan(found) {
		a.Objects = append(a.Objects, i.RepairedObject)
	}
	a = a.Redacted(found.Secrets)
	a.Digest = repair.Digest(a)
	return a
}

// invented is a result with failures and changed objects, more of both than the table shows.
func invented() *report.Repair {
	a := &report.Repair{
		Head: report.Head{Kind: report.KindAdoptionResult,
			Source: report.Source{Kind: "cluster", Server: "https://cluster.example.com"}},
		Digest:  "abc",
		Receipt: "a file.jsonl", Notes: []string{"the state of the bundles could not be read: reaching the cluster"},
		Deployments: []report.RepairedDeployment{{Namespace: "cluster-one", Name: "guestbook",
			Before: report.Counts{Desired: 13, Ready: 7},
			After:  report.Counts{Desired: 13, Ready: 10}},
			{Namespace: "cluster-one", Name: "refused", After: report.Counts{Desired: 1, Ready: 1},
				Failed: "the last deploy failed: not installed: it exists", Remedies: []report.Remedy{{
					Command: "kubectl -n fleet-local patch bundle.fleet.cattle.io/refused",
					Text:    "deploys it again"}}}}}
	for i := range 25 {
		o := report.RepairedObject{Ref: object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web",
			Name: fmt.Sprintf("frontend-%02d", i)},
			Action: report.ActionAdopt, Outcome: report.OutcomeDone}
		switch {
		case i < 12:
			o.Outcome, o.Message = report.OutcomeFailed,
				"deployments.apps \"frontend\" is forbidden: User \"somebody\" cannot patch resource \"deployments\" "+
					"in API group \"apps\" in the namespace \"web\""
		case i == 12:
			o.Outcome, o.Message = report.OutcomeChanged, "its ownership metadata was changed in the meantime"
		case i == 13:
			o.Outcome = report.OutcomeNotTried
		case i == 14:
			o.Action, o.Outcome = report.ActionRefuse, ""
		}
		a.Objects = append(a.Objects, o)
	}
	return a.Redacted(&secret.Values{})
}

// repaired is the result of a plan: one object changed in the meantime, and one deployment is not ready yet.
func repaired(plan *report.Repair) *report.Repair {
	plan.Kind, plan.Receipt = report.KindRepairResult, "receipt.jsonl"
	for i := range plan.Objects {
		plan.Objects[i].Outcome = report.OutcomeDone
	}
	last := &plan.Objects[len(plan.Objects)-1]
	last.Outcome, last.Message = report.OutcomeChanged, "it was deleted in the meantime"
	plan.Deployments = []report.RepairedDeployment{{Namespace: "cluster-one", Name: "guestbook",
		Before: report.Counts{Desired: 5, Ready: 1}, After: report.Counts{Desired: 5, Ready: 4, NotReady: 1}}}
	return plan.Redacted(&secret.Values{})
}

func showAdoption(t *testing.T, a *report.Repair, format string, o printers.Options) string {
	t.Helper()
	o.PrintRole, o.Undo = "kubectl fleetdoctor audit --print-rbac", "kubectl fleetdoctor adopt --undo"
	return shown(t, format, printers.Repair(a, o))
}

// TestGoldenAdoption compares every format of plans and results with the golden files.
func TestGoldenAdoption(t *testing.T) {
	plan, strict := planned(t, repair.Options{Policy: ownership.IfUnowned}),
		planned(t, repair.Options{Policy: ownership.TakeUnmarked})
	for _, format := range formats {
		golden.Compare(t, "adopt."+format, showAdoption(t, plan, format, printers.Options{}))
	}
	golden.Compare(t, "adopt-unmarked.table", showAdoption(t, strict, "table", printers.Options{}))
	golden.Compare(t, "adopt-unmarked.wide", showAdoption(t, strict, "wide", printers.Options{}))
	golden.Compare(t, "adopt.colour", showAdoption(t, plan, "table", printers.Options{Colour: true, Diff: true}))
	golden.Compare(t, "adopted.table", showAdoption(t, invented(), "table", printers.Options{}))
	golden.Compare(t, "adopted.wide", showAdoption(t, invented(), "wide", printers.Options{}))
	golden.Compare(t, "adopted.json", showAdoption(t, invented(), "json", printers.Options{}))
}

// TestGoldenRepair compares every format of a plan and its result with the golden files.
func TestGoldenRepair(t *testing.T) {
	plan := plannedRepair(t)
	options := printers.Options{Undo: "kubectl fleetdoctor repair --undo"}
	for _, format := range formats {
		golden.Compare(t, "repair."+format, shown(t, format, printers.Repair(plan, options)))
	}
	options.Diff = true
	golden.Compare(t, "repair.diff", shown(t, "table", printers.Repair(plan, options)))
	result := repaired(plan)
	golden.Compare(t, "repaired.table", shown(t, "table", printers.Repair(result, options)))
	golden.Compare(t, "repaired.json", shown(t, "json", printers.Repair(result, options)))
}

// TestGoldenOwnership compares the formats of an owner report with the golden files.
func TestGoldenOwnership(t *testing.T) {
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := owner.Of(t.Context(), s, audit.Options{Version: "test", Commands: cases.Commands},
		[]source.Named{{Kind: "deploy", Name: "frontend"}, {Kind: "clusterrole", Name: "edge-reader"},
			{Kind: "svc", Name: "edge"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Source.Path = "test/testdata/sick"
	for _, format := range []string{"table", "json", "yaml", "name"} {
		golden.Compare(t, "owner."+format, shown(t, format, printers.Ownership(d, printers.Options{})))
	}
}

// TestGoldenTargets compares the formats of a targets report with the golden files.
func TestGoldenTargets(t *testing.T) {
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/targets"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := targets.Of(t.Context(), s, targets.Options{Version: "test"},
		[]source.Named{{Kind: "bundle", Name: "shop"}, {Kind: "bundle", Name: "shop-eu"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Source.Path = "test/testdata/targets"
	for _, format := range []string{"table", "wide", "json", "yaml", "name"} {
		golden.Compare(t, "targets."+format, shown(t, format, printers.Targets(d, printers.Options{})))
	}
}
