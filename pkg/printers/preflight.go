// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Preflight prints a preflight report.
type Preflight struct {
	Report  *report.Preflight
	Options Options
}

// Content is the document.
func (p Preflight) Content() any { return p.Report }

// Rows are the bundle deployments.
func (p Preflight) Rows() any { return p.Report.BundleDeployments }

// Table writes the document for people.
func (p Preflight) Table(w io.Writer, wide bool) error {
	return text{p.Options, wide}.preflight(w, p.Report)
}

func (t text) preflight(w io.Writer, p *report.Preflight) error {
	var b bytes.Buffer
	t.head(&b, "Preflight of ", p.Source, p.TakenAt)
	t.notRead(&b, p.Gaps, p.Notes)
	for _, r := range p.BundleDeployments {
		t.rollout(&b, r)
	}
	s := p.Summary
	var parts []string
	for _, n := range []struct {
		count   int
		verdict report.Verdict
	}{{s.Refused, report.VerdictRefused}, {s.Contested, report.VerdictContested}, {s.Unknown, report.VerdictUnknown}, {s.OK, report.VerdictOK}} {
		if n.count > 0 {
			parts = append(parts, t.colour(verdictColours[n.verdict], fmt.Sprintf("%d %s", n.count, verdictWord(n.verdict))))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to deploy to this cluster"}
	}
	fmt.Fprintf(&b, "%s: %s.\n", plural(s.BundleDeployments, "bundle deployment"), strings.Join(parts, ", "))
	_, err := w.Write(b.Bytes())
	return err
}

// verdictWord is a verdict as it is shown.
func verdictWord(v report.Verdict) string { return strings.ToLower(string(v)) }

var verdictColours = map[report.Verdict]string{report.VerdictRefused: red, report.VerdictContested: red, report.VerdictUnknown: yellow, report.VerdictOK: green}

// actionTitles say what a rollout does with a release.
var actionTitles = map[string]string{report.RolloutInstall: "installs release ", report.RolloutUpgrade: "upgrades release "}

// rollout shows one bundle: its verdict, the counts of its objects, and each problem.
func (t text) rollout(b *bytes.Buffer, r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	fmt.Fprintf(b, "%s  %s\n", t.bold("bundle deployment "+printable(name)), t.colour(verdictColours[r.Verdict], verdictWord(r.Verdict)))
	if line := rolloutLine(r); line != "" {
		wrapped(b, "  ", line)
	}
	for rest := r.Items; len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n].Rule == rest[0].Rule && rest[n].Severity == rest[0].Severity {
			n++
		}
		t.ruleGroup(b, rest[:n])
		rest = rest[n:]
	}
	b.WriteByte('\n')
}

// rolloutLine is what the rollout does, with the counts of objects.
func rolloutLine(r report.Rollout) string {
	var parts []string
	c := r.Counts
	for _, n := range []struct {
		count int
		says  string
	}{{c.Create, "to create"}, {c.TakeOver, "to take over"}, {c.Change, "to change"}, {c.Keep, "unchanged"}, {c.Delete, "to delete"}, {c.Unknown, "unknown"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.says))
		}
	}
	title := actionTitles[r.Action]
	switch {
	case title == "" && len(parts) == 0:
		return ""
	case title == "":
		return sentence("objects: " + strings.Join(parts, ", "))
	case len(parts) == 0:
		return sentence(title + r.Release + ", without objects")
	}
	return sentence(title + r.Release + "; objects: " + strings.Join(parts, ", "))
}

// ruleGroup shows the items of one rule, at most maxShown, and each remediation once.
func (t text) ruleGroup(b *bytes.Buffer, items []report.PreflightItem) {
	shown := items
	if !t.wide {
		shown = items[:min(len(items), maxShown)]
	}
	for i, item := range shown {
		before := len("  warning   ") + span(item.Rule)
		fmt.Fprintf(b, "  %s %s  %s\n", t.colour(severityColours[item.Severity], fmt.Sprintf("%-7s", item.Severity)), printable(item.Rule),
			strings.Join(lines(item.Message, before, len(inset)), "\n"+inset))
		t.overwrites(b, item.Overwrites)
		again := func(later report.PreflightItem) bool { return later.Remediation == item.Remediation }
		if item.Remediation != "" && !slices.ContainsFunc(shown[i+1:], again) {
			fmt.Fprintf(b, "%s%s %s\n", inset, t.faint("→"), printable(item.Remediation))
		}
	}
	if n := len(items) - len(shown); n > 0 {
		fmt.Fprintf(b, "  %s\n", t.faint(fmt.Sprintf("… and %d more (-o wide shows them)", n)))
	}
}
