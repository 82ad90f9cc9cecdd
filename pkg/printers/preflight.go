// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Preflight lays out a preflight report. Its names are the bundle deployments with a verdict other than OK.
func Preflight(p *report.Preflight, o Options) Document {
	return Document{o, p, p.BundleDeployments, func(l *layout) { preflight(l, p) }, arguments(p.BundleDeployments,
		func(r report.Rollout) bool { return r.Verdict != report.VerdictOK },
		func(r report.Rollout) string { return argument(r.Namespace, bundleDeployment, r.Name) })}
}

func preflight(l *layout, p *report.Preflight) {
	head(l, "Preflight of ", p.Source, p.TakenAt)
	notRead(l, unsaid(p), p.Notes)
	for _, r := range problemsFirst(l, p.BundleDeployments, func(r report.Rollout) int {
		return slices.Index(verdicts, r.Verdict)
	}) {
		rollout(l, r)
	}
	s := p.Summary
	var counts []phrase
	for _, v := range []struct {
		n    int
		word string
	}{{s.Refused, "refused"}, {s.Contested, "contested"}, {s.Unknown, "unknown"}, {s.OK, "ok"}} {
		if v.n > 0 {
			counts = append(counts, styled(styles[v.word], tally(v.n, v.word)))
		}
	}
	if len(counts) == 0 {
		counts = []phrase{join("nothing to deploy to this cluster")}
	}
	l.line(plural(s.BundleDeployments, "bundle deployment"), ": ", joinWith(", ", counts), ".")
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

// rollout adds one bundle: its verdict, the counts of its objects, and each problem.
func rollout(l *layout, r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	l.line(bold("bundle deployment "+name), "  ", word(strings.ToLower(string(r.Verdict))))
	l.say("  ", rolloutLine(r))
	type rule struct {
		name     string
		severity report.Severity
	}
	for items := range chunks(r.Items, func(i report.PreflightItem) rule { return rule{i.Rule, i.Severity} }) {
		ruleGroup(l, items)
	}
	l.end()
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

// ruleGroup adds the items of one rule, at most maxShown, and each remediation once.
func ruleGroup(l *layout, items []report.PreflightItem) {
	shown := limited(l, items)
	for i, item := range shown {
		problem(l, item.Severity, item.Rule, item.Message)
		if item.Object != nil {
			overwrites(l, *item.Object, item.Overwrites)
		}
		again := func(later report.PreflightItem) bool { return sameRemedies(later.Remedies, item.Remedies) }
		if !slices.ContainsFunc(shown[i+1:], again) {
			remedies(l, inset, item.Remedies)
		}
	}
	l.more("  ", len(items)-len(shown), "")
}
