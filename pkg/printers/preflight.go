// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Preflight lays out a preflight report. Its names are the bundle deployments with a verdict other than OK.
func Preflight(p *report.Preflight, o Options) Document {
	return Document{o, p, p.BundleDeployments, func(t text, b *bytes.Buffer) error { t.preflight(b, p); return nil },
		func(b *bytes.Buffer) {
			for _, r := range p.BundleDeployments {
				if r.Verdict != report.VerdictOK {
					printName(b, r.Namespace, bundleDeployment, r.Name)
				}
			}
		}}
}

func (t text) preflight(b *bytes.Buffer, p *report.Preflight) {
	t.head(b, "Preflight of ", p.Source, p.TakenAt)
	t.notRead(b, unsaid(p), p.Notes)
	for _, r := range problemsFirst(t, p.BundleDeployments, func(r report.Rollout) int {
		return slices.Index(verdicts, r.Verdict)
	}) {
		t.rollout(b, r)
	}
	s := p.Summary
	var parts []string
	for _, n := range []struct {
		count   int
		verdict report.Verdict
	}{{s.Refused, report.VerdictRefused}, {s.Contested, report.VerdictContested}, {s.Unknown,
		report.VerdictUnknown}, {s.OK, report.VerdictOK}} {
		if n.count > 0 {
			parts = append(parts, t.colour(verdictColours[n.verdict],
				fmt.Sprintf("%d %s", n.count, verdictWord(n.verdict))))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to deploy to this cluster"}
	}
	fmt.Fprintf(b, "%s: %s.\n", plural(s.BundleDeployments, "bundle deployment"), strings.Join(parts, ", "))
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

// verdictWord is a verdict as it is shown.
func verdictWord(v report.Verdict) string { return strings.ToLower(string(v)) }

var verdictColours = map[report.Verdict]string{report.VerdictRefused: red, report.VerdictContested: red,
	report.VerdictUnknown: yellow, report.VerdictOK: green}

// actionTitles describe what a rollout does with a release.
var actionTitles = map[string]string{report.RolloutInstall: "installs release ",
	report.RolloutUpgrade: "upgrades release "}

// rollout shows one bundle: its verdict, the counts of its objects, and each problem.
func (t text) rollout(b *bytes.Buffer, r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	fmt.Fprintf(b, "%s  %s\n", t.bold("bundle deployment "+printable(name)), t.colour(verdictColours[r.Verdict],
		verdictWord(r.Verdict)))
	if line := rolloutLine(r); line != "" {
		t.wrapped(b, "  ", line)
	}
	for items := range chunks(r.Items, func(x, y report.PreflightItem) bool {
		return x.Rule == y.Rule && x.Severity == y.Severity
	}) {
		t.ruleGroup(b, items)
	}
	emptyLine(b)
}

// rolloutLine describes what the rollout does, with the counts of objects.
func rolloutLine(r report.Rollout) string {
	c := r.Counts
	parts := tallies(tally{c.Create, "to create"}, tally{c.TakeOver, "to take over"}, tally{c.Change, "to change"},
		tally{c.Keep, "unchanged"}, tally{c.Delete, "to delete"}, tally{c.Unknown, "unknown"})
	objects := "objects: " + strings.Join(parts, ", ")
	title := actionTitles[r.Action]
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
func (t text) ruleGroup(b *bytes.Buffer, items []report.PreflightItem) {
	shown := limited(t, items)
	for i, item := range shown {
		before := len("  warning   ") + span(item.Rule)
		fmt.Fprintf(b, "  %s %s  %s\n", t.colour(severityColours[item.Severity], fmt.Sprintf("%-7s", item.Severity)),
			printable(item.Rule),
			strings.Join(t.lines(item.Message, before, len(inset)), "\n"+inset))
		if item.Object != nil {
			t.overwrites(b, *item.Object, item.Overwrites)
		}
		again := func(later report.PreflightItem) bool { return sameRemedies(later.Remedies, item.Remedies) }
		if !slices.ContainsFunc(shown[i+1:], again) {
			t.remedies(b, inset, item.Remedies)
		}
	}
	t.more(b, "  ", len(items)-len(shown), "")
}
