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

// PreflightPrinter shows what rollouts would meet.
type PreflightPrinter func(io.Writer, *report.Preflight) error

// PreflightFormats lists the formats of a Preflight, the default first.
var PreflightFormats = []string{"text", "wide", "json", "yaml"}

// NewPreflight returns the printer of a format, one of PreflightFormats.
func NewPreflight(format string, o Options) (PreflightPrinter, error) {
	switch format {
	case "text":
		return text{Options: o}.preflight, nil
	case "wide":
		return text{Options: o, wide: true}.preflight, nil
	case "json":
		return func(w io.Writer, p *report.Preflight) error { return writeJSON(w, p) }, nil
	case "yaml":
		return func(w io.Writer, p *report.Preflight) error { return writeYAML(w, p) }, nil
	}
	return nil, noFormat(format)
}

func (t text) preflight(w io.Writer, p *report.Preflight) error {
	var b bytes.Buffer
	t.origin(&b, "Preflight in ", p.Source, p.TakenAt)
	t.notRead(&b, p.Gaps, p.Notes)
	for _, r := range p.BundleDeployments {
		t.rollout(&b, r)
	}
	s := p.Summary
	var parts []string
	for _, n := range []struct {
		count int
		says  string
		code  string
	}{{s.Refused, "would be refused", red}, {s.Contested, "contested", red}, {s.Unknown, "not known", yellow}, {s.OK, "clear to go", green}} {
		if n.count > 0 {
			parts = append(parts, t.colour(n.code, fmt.Sprintf("%d %s", n.count, n.says)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to deploy here"}
	}
	fmt.Fprintf(&b, "%s: %s.\n", plural(s.BundleDeployments, "bundle deployment"), strings.Join(parts, ", "))
	_, err := w.Write(b.Bytes())
	return err
}

// verdictWords are the verdicts as they are shown, verdictColours in which colour.
var (
	verdictWords = map[report.Verdict]string{report.VerdictRefused: "would be refused", report.VerdictContested: "contested",
		report.VerdictUnknown: "not known", report.VerdictOK: "clear to go"}
	verdictColours = map[report.Verdict]string{report.VerdictRefused: red, report.VerdictContested: red, report.VerdictUnknown: yellow, report.VerdictOK: green}
)

// actionTitles are what is done with a release.
var actionTitles = map[string]string{report.RolloutInstall: "installs release ", report.RolloutUpgrade: "upgrades release "}

// rollout shows one bundle: its verdict, what happens to how many objects, and each thing in the way.
func (t text) rollout(b *bytes.Buffer, r report.Rollout) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	fmt.Fprintf(b, "%s  %s\n", t.bold("bundle deployment "+printable(name)), t.colour(verdictColours[r.Verdict], verdictWords[r.Verdict]))
	if line := rolloutLine(r); line != "" {
		wrapped(b, "  ", line)
	}
	for rest := r.Items; len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n].Rule == rest[0].Rule && rest[n].Severity == rest[0].Severity {
			n++
		}
		t.ofRule(b, rest[:n])
		rest = rest[n:]
	}
	b.WriteByte('\n')
}

// rolloutLine says what the rollout does, in numbers.
func rolloutLine(r report.Rollout) string {
	var parts []string
	c := r.Counts
	for _, n := range []struct {
		count int
		says  string
	}{{c.Create, "to create"}, {c.TakeOver, "there and not its own"}, {c.Change, "to change"}, {c.Keep, "as they are"}, {c.Delete, "to delete"}, {c.Unknown, "not known"}} {
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
		return sentence(title + r.Release + ", of no object")
	}
	return sentence(title + r.Release + "; objects: " + strings.Join(parts, ", "))
}

// ofRule shows the items of one rule, as many as are of use, and what to do once where it is the same for all.
func (t text) ofRule(b *bytes.Buffer, items []report.PreflightItem) {
	shown := items
	if !t.wide {
		shown = items[:min(len(items), most)]
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
