// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
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

// adoption is the document of an adoption, with commands for the permissions and for the undo.
func adoption(a *report.Repair, o printers.Options) printers.Document {
	o.PrintRole, o.Undo = "kubectl fleetdoctor audit --print-rbac", "kubectl fleetdoctor adopt --undo"
	return printers.Repair(a, o)
}

// TestGoldenRepair compares plans and results of adoptions and repairs with their golden files.
func TestGoldenRepair(t *testing.T) {
	var p people
	adoptions(t, &p)
	repairs(t, &p)
	p.Compare(t, "repair.txt")
}

func adoptions(t *testing.T, p *people) {
	t.Helper()
	plan, strict := planned(t, repair.Options{Policy: ownership.IfUnowned}),
		planned(t, repair.Options{Policy: ownership.TakeUnmarked})
	golden.Compare(t, "adopt.json", p.addDocument(t, "adoption", adoption(plan, printers.Options{})))
	p.addDocument(t, "adoption of unmarked objects", adoption(strict, printers.Options{}))
	p.Add("adoption: --diff, in colour", shown(t, "table", adoption(plan,
		printers.Options{Colour: true, Diff: true})))
	golden.Compare(t, "adopted.json", p.addDocument(t, "adopted", adoption(invented(), printers.Options{})))
}

func repairs(t *testing.T, p *people) {
	t.Helper()
	plan := plannedRepair(t)
	options := printers.Options{Undo: "kubectl fleetdoctor repair --undo"}
	golden.Compare(t, "repair.json", p.addDocument(t, "repair", printers.Repair(plan, options)))
	options.Diff = true
	p.Add("repair: --diff", shown(t, "table", printers.Repair(plan, options)))
	golden.Compare(t, "repaired.json", p.addDocument(t, "repaired", printers.Repair(repaired(plan), options)))
}

// TestGoldenAnswers compares the documents of the small verbs with their golden files.
func TestGoldenAnswers(t *testing.T) {
	var p people
	ownerOf(t, &p)
	targetsOf(t, &p)
	agentsOf(t, &p)
	explained(t, &p)
	versionsOf(t, &p)
	p.Compare(t, "answers.txt")
}

func ownerOf(t *testing.T, p *people) {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := query.Owners(t.Context(), s, audit.Options{Version: "test", Commands: cases.Commands},
		[]source.Named{{Kind: "deploy", Name: "frontend"}, {Kind: "clusterrole", Name: "edge-reader"},
			{Kind: "svc", Name: "edge"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Source.Path = "test/testdata/sick"
	golden.Compare(t, "owner.json", p.addDocument(t, "owner", printers.Ownership(d, printers.Options{})))
}

func targetsOf(t *testing.T, p *people) {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/targets"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := query.Targets(t.Context(), s, query.Options{Version: "test"},
		[]source.Named{{Kind: "bundle", Name: "shop"}, {Kind: "bundle", Name: "shop-eu"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Source.Path = "test/testdata/targets"
	golden.Compare(t, "targets.json", p.addDocument(t, "targets", printers.Targets(d, printers.Options{})))
}
