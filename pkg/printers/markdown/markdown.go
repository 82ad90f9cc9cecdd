// SPDX-License-Identifier: Apache-2.0

// Package markdown writes the report of an audit as Markdown for a ticket, as GitHub and GitLab read it.
package markdown

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Limit is the greatest length of a document in bytes. GitHub accepts 65,536 characters in an issue or a comment.
const Limit = 60_000

// share is the length that a table may have, so that findings have room.
const share = Limit / 5

// Write writes the report: the summary first, then what was not read, then problems. What does not fit into a ticket is
// counted.
func Write(w io.Writer, a *report.Audit) error {
	d := &document{}
	d.head(a)
	d.gaps(a)
	d.deployments(a)
	d.aggregates(a)
	d.findings(a)
	_, err := io.WriteString(w, d.b.String())
	return err
}

// document is a document with a limited length.
type document struct {
	b       strings.Builder
	omitted int // findings that do not fit
}

func (d *document) add(lines ...string) {
	for _, line := range lines {
		d.b.WriteString(line + "\n")
	}
}

// fits reports whether a text can be added.
func (d *document) fits(s string) bool { return d.b.Len()+len(s) <= Limit }

func (d *document) head(a *report.Audit) {
	level, verdict := digest.Verdict(a)
	sign := map[digest.Level]string{digest.Good: "✅", digest.Bad: "❌", digest.Unknown: "❔"}[level]
	d.add("## Fleet audit: "+sign+" "+verdict, "", "**"+prose(digest.Totals(a))+"**", "",
		prose(digest.Title(&a.Source)+", "+strings.Join(digest.Facts(a), ", ")), "")
}

// table adds a table with as many rows as fit. more says what the other rows are.
func (d *document) table(header []string, rows [][]string, more string) {
	lines := make([]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			lines[i] += "| " + cell(c) + " "
		}
		lines[i] += "|"
	}
	d.add("| "+strings.Join(header, " | ")+" |", strings.Repeat("| --- ", len(header))+"|")
	left := d.some(lines)
	d.add("")
	if left > 0 {
		d.add(fmt.Sprintf("… and %d more %s.", left, more), "")
	}
}

// some adds the lines that fit into the share of a table, and returns the number of the others.
func (d *document) some(lines []string) (left int) {
	begin := d.b.Len()
	for _, line := range lines {
		if d.b.Len()-begin+len(line) > share {
			left++
			continue
		}
		d.add(line)
	}
	return left
}

func (d *document) gaps(a *report.Audit) {
	if len(a.Gaps) > 0 {
		d.add("### Not read", "",
			"The result does not cover these items. What could not be read is unknown, not ready.", "")
		var rows [][]string
		for i := range a.Gaps {
			g := &a.Gaps[i]
			rows = append(rows, []string{prose(digest.What(g)), prose(g.Why()), prose(g.Effect)})
		}
		d.table([]string{"What", "Why", "Effect"}, rows, "that were not read")
	}
	if len(a.Notes) > 0 {
		d.add("### Notes", "")
		var lines []string
		for _, n := range a.Notes {
			lines = append(lines, "- "+prose(n))
		}
		if left := d.some(lines); left > 0 {
			d.add("- … and " + report.Plural(left, "more note"))
		}
		d.add("")
	}
}

func (d *document) deployments(a *report.Audit) {
	var rows [][]string
	for _, bd := range digest.Deployments(a) {
		if digest.LevelOf(bd) == digest.Good {
			continue
		}
		state := string(bd.State)
		if bd.Reason != "" {
			state += " " + bd.Reason
		}
		rows = append(rows, []string{code(bd.Name), code(bd.Cluster), prose(state),
			actual(bd.Counts, bd.WithoutResult()), reported(bd.Reported), counts(bd.Counts)})
	}
	if len(rows) > 0 {
		d.add("### Bundle deployments", "")
		d.table([]string{"Bundle deployment", "Cluster", "State", "Ready", "Fleet reports", "Not ready"}, rows,
			"bundle deployments that are not ready or have no result")
	}
	if well := len(a.BundleDeployments) - len(rows); well > 0 {
		d.add(fmt.Sprintf("Every object is ready in %s.", report.Plural(well, "bundle deployment")), "")
	}
}

func actual(c report.Counts, none bool) string {
	if none {
		return "?"
	}
	return digest.Fraction(c.Ready, c.Desired)
}

// reported is the fraction that Fleet reports, and its state.
func reported(r *report.Reported) string {
	if r == nil {
		return "–"
	}
	out := cmp.Or(digest.ReportedFraction(r), "–")
	if r.State != "" {
		out += " " + prose(r.State)
	}
	if r.Stale {
		out += " (old)"
	}
	return out
}

func counts(c report.Counts) string {
	return strings.Join(digest.NonEmpty(digest.Tally(c.Missing, "missing"), digest.Tally(c.Unowned, "unowned"),
		digest.Tally(c.Modified, "modified"), digest.Tally(c.NotReady, "not ready"),
		digest.Tally(c.Orphaned, "orphaned"), digest.Tally(c.Unknown, "unknown")), ", ")
}

// aggregates adds the aggregates whose reported numbers differ from the actual ones.
func (d *document) aggregates(a *report.Audit) {
	var rows [][]string
	for _, x := range digest.Aggregates(a) {
		if x.Differs {
			ready := x.Ready
			if x.Statuses != "" {
				ready += " (statuses: " + x.Statuses + ")"
			}
			rows = append(rows, []string{x.Kind + " " + code(x.Name), ready, reported(x.Numbers.Reported)})
		}
	}
	if len(rows) > 0 {
		d.add("### Totals that differ from what Fleet reports", "")
		d.table([]string{"Object", "Ready", "Fleet reports"}, rows, "objects of Fleet with other totals")
	}
}

var headings = map[report.Severity]string{report.Error: "Errors", report.Warning: "Warnings",
	report.Info: "For information"}

func (d *document) findings(a *report.Audit) {
	differences := digest.NewDifferences(a)
	var last report.Severity
	for _, g := range digest.Groups(a) {
		if g.Severity != last {
			last = g.Severity
			d.add("### "+headings[g.Severity], "")
		}
		d.group(g, differences)
	}
	if d.omitted > 0 {
		d.add(fmt.Sprintf("%s not shown here, because a ticket has a limited length. `-o html` and `-o json` show all.",
			report.Plural(d.omitted, "finding")), "")
	}
}

// group adds the findings of one code, then their differences, then the ways to proceed.
func (d *document) group(g digest.Group, differences digest.Differences) {
	d.add("#### "+link(prose(g.Code), g.URL())+" "+prose(g.Title)+fmt.Sprintf(" (%d)", len(g.Findings)), "")
	var shown []*report.Finding
	for _, f := range g.Findings {
		if text := item(f, differences.Of(f)); d.fits(text) {
			d.b.WriteString(text)
			shown = append(shown, f)
		}
	}
	d.add("")
	if n := len(g.Findings) - len(shown); n > 0 {
		d.omitted += n
		d.add(fmt.Sprintf("… and %d more of %s.", n, prose(g.Code)), "")
	}
	d.diffs(shown, differences)
	d.remedies(shown)
}

// item is one finding as an element of a list.
func item(f *report.Finding, fields []digest.Field) string {
	out := "- " + prose(f.Message) + "\n"
	if about := digest.About(f, code); about != "" {
		out += "  - " + about + "\n"
	}
	for _, e := range digest.Evidence(f, fields) {
		out += "  - " + prose(e) + "\n"
	}
	return out
}

// diffs adds the differences of findings, folded.
func (d *document) diffs(findings []*report.Finding, differences digest.Differences) {
	var blocks []string
	length, left := 0, 0
	for _, f := range findings {
		fields := differences.Of(f)
		if len(fields) == 0 {
			continue
		}
		var b strings.Builder
		for _, x := range fields {
			fmt.Fprintf(&b, "@@ %s @@ %s\n", escape.Line(x.Path), escape.Line(x.About))
			for _, l := range x.Lines {
				switch l.Sign {
				case "@":
					fmt.Fprintf(&b, "@@ %s @@\n", l.Text)
				case "!":
					fmt.Fprintf(&b, "! release record: %s\n", l.Text)
				default:
					fmt.Fprintf(&b, "%s%s\n", l.Sign, l.Text)
				}
			}
		}
		text := prose(f.Object.Key().String()) + "\n\n" + block("diff", b.String())
		if length += len(text); !d.fits(strings.Repeat(" ", length)) {
			length -= len(text)
			left++
			continue
		}
		blocks = append(blocks, text)
	}
	if len(blocks) > 0 {
		d.add("<details><summary>Differences (- bundle, + cluster)</summary>", "")
		d.add(blocks...)
		d.add("</details>", "")
	}
	if left > 0 {
		d.add(fmt.Sprintf("The differences of %s are too long for a ticket.", report.Plural(left, "object")), "")
	}
}

// indent makes lines a part of a list item, without spaces on empty lines.
var indent = strings.NewReplacer("\n\n", "\n\n  ", "\n", "\n  ")

// remedies adds the ways to proceed, each once. The commands with the same effect are in one block.
func (d *document) remedies(findings []*report.Finding) {
	var texts []string
	commands := map[string][]string{}
	for _, f := range findings {
		for _, r := range f.NextSteps() {
			if !slices.Contains(texts, r.Text) {
				texts = append(texts, r.Text)
			}
			if r.Command != "" && !slices.Contains(commands[r.Text], r.Command) {
				commands[r.Text] = append(commands[r.Text], r.Command)
			}
		}
	}
	left, head := 0, "Next steps:\n\n" // without it, the steps would be items of the list of findings
	for _, text := range texts {
		var parts []string
		if c := commands[text]; len(c) > 0 { // the command comes first, because it is the subject of its effect
			parts = append(parts, strings.TrimSuffix(block("sh", strings.Join(c, "\n")), "\n"))
		}
		if text != "" {
			parts = append(parts, prose(text))
		}
		out := head + "- " + indent.Replace(strings.Join(parts, "\n\n")) + "\n\n"
		if !d.fits(out) {
			left++
			continue
		}
		d.b.WriteString(out)
		head = ""
	}
	if left > 0 {
		d.add("Not all next steps fit into a ticket.", "")
	}
}
