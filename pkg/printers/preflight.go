// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Preflight lays out a preflight report. Its names are the bundle deployments with a verdict other than OK.
func Preflight(p *report.Preflight, o Options) Document {
	return Document{o, p, p.BundleDeployments, func(t text) { t.preflight(p) }, func(t text) {
		for _, r := range p.BundleDeployments {
			if r.Verdict != report.VerdictOK {
				t.name(r.Namespace, bundleDeployment, r.Name)
			}
		}
	}}
}

func (t text) preflight(p *report.Preflight) {
	t.head("Preflight of ", p.Source, p.TakenAt)
	t.notRead(unsaid(p), p.Notes)
	for _, r := range problemsFirst(t, p.BundleDeployments, func(r report.Rollout) int {
		return slices.Index(verdicts, r.Verdict)
	}) {
		t.rollout(r)
	}
	s := p.Summary
	count := func(n int, verdict string) string { return t.colour(colours[verdict], tally(n, verdict)) }
	parts := nonEmpty(count(s.Refused, "refused"), count(s.Contested, "contested"), count(s.Unknown, "unknown"),
		count(s.OK, "ok"))
	if len(parts) == 0 {
		parts = []string{"nothing to deploy to this cluster"}
	}
	t.linef("%s: %s.", plural(s.BundleDeployments, "bundle deployment"), strings.Join(parts, ", "))
}

// unsaid returns the gaps whose details are not in the message of a problem, which is shown anyway.
func unsaid(p *report.Preflight) []report.Gap {
	return slices.DeleteFunc(slices.Clone(p.Gaps), func(g report.Gap) bool {
		says := func(i report.PreflightItem) bool { return g.Detail != "" && strings.Contains(i.Message, g.Detail) }
		return slices.ContainsFunc(p.BundleDeployments, func(r report.Rollout) bool {
			return slices.ContainsFunc(r.Items, says)
		})
	})
}

// verdicts are the verdicts, the worst one last.
var verdicts = []report.Verdict{report.VerdictOK, report.VerdictUnknown, report.VerdictContested, report.VerdictRefused}

// actionTitles describe what a rollout does with a release.
var actionTitles = map[string]string{report.RolloutInstall: "installs release ",
	report.RolloutUpgrade: "upgrades release "}

// rollout shows one bundle: its verdict, the counts of its objects, and each problem.
func (t text) rollout(r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	t.linef("%s  %s", t.bold("bundle deployment "+printable(name)), t.word(strings.ToLower(string(r.Verdict))))
	t.wrapped("  ", rolloutLine(r))
	for items := range chunks(r.Items, func(x, y report.PreflightItem) bool {
		return x.Rule == y.Rule && x.Severity == y.Severity
	}) {
		t.ruleGroup(items)
	}
	t.emptyLine()
}

// rolloutLine describes what the rollout does, with the counts of objects.
func rolloutLine(r report.Rollout) string {
	c := r.Counts
	parts := nonEmpty(tally(c.Create, "to create"), tally(c.TakeOver, "to take over"), tally(c.Change, "to change"),
		tally(c.Keep, "unchanged"), tally(c.Delete, "to delete"), tally(c.Unknown, "unknown"))
	objects := "objects: " + strings.Join(parts, ", ")
	title := actionTitles[r.Action]
	if r.Paused && title != "" {
		title = "is paused, and deploys nothing; once it is resumed, it " + title
	}
	switch {
	case title == "" && len(parts) == 0:
		return ""
	case title == "":
		return sentence(objects)
	case len(parts) == 0:
		return sentence(title + r.Release + ", without objects")
	}
	return sentence(title + r.Release + "; " + objects)
}

// ruleGroup shows the items of one rule, at most maxShown, and each remediation once.
func (t text) ruleGroup(items []report.PreflightItem) {
	shown := limited(t, items)
	for i, item := range shown {
		t.problem(item.Severity, item.Rule, item.Message)
		if item.Object != nil {
			t.overwrites(*item.Object, item.Overwrites)
		}
		again := func(later report.PreflightItem) bool { return sameRemedies(later.Remedies, item.Remedies) }
		if !slices.ContainsFunc(shown[i+1:], again) {
			t.remedies(inset, item.Remedies)
		}
	}
	t.more("  ", len(items)-len(shown), "")
}
