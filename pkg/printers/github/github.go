// SPDX-License-Identifier: Apache-2.0

// Package github writes the report of an audit as workflow commands of GitHub Actions, which GitHub shows as
// annotations of the run.
package github

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxMessage is the length in bytes at which a message is cut. GitHub refuses annotations of more than 64 KiB.
const maxMessage = 16 << 10

// commands are the workflow commands of severities.
var commands = map[report.Severity]string{report.Error: "error", report.Warning: "warning", report.Info: "notice"}

// Write writes one workflow command per line: the totals, what was not read, and the problems, the most urgent first.
// GitHub shows only the first ten annotations of each type, so everything that was not read is in one of them.
func Write(w io.Writer, a *report.Audit) error {
	var lines []string
	level, verdict := digest.Verdict(a)
	command := "notice"
	if level == digest.Unknown { // a notice would look like a result without problems
		command = "warning"
	}
	about := strings.Join(append([]string{digest.Title(&a.Source)}, digest.Facts(a)...), ", ")
	lines = append(lines, annotation(command, "Fleet audit: "+verdict, digest.Totals(a), about))
	if len(a.Gaps) > 0 {
		lines = append(lines, gaps(a.Gaps))
	}
	names := digest.NewHeadlines(a)
	for _, p := range digest.AllProblems(a) {
		lines = append(lines, problem(names, p))
	}
	for _, n := range a.Notes {
		lines = append(lines, annotation("notice", "Fleet audit", n))
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing workflow commands: %w", err)
	}
	return nil
}

func gaps(list []report.Gap) string {
	var out []string
	for i := range list {
		g := &list[i]
		out = append(out, digest.What(g)+": "+g.Why()+": "+g.Effect)
	}
	return annotation("warning", fmt.Sprintf("Fleet audit: %s not read", report.Plural(len(list), "item")), out...)
}

// problem is the annotation of a problem. Equal findings, and those that follow, have no annotations of their own.
func problem(names digest.Headlines, p *digest.Problem) string {
	f := p.First()
	about := digest.About(f, func(name string) string { return name })
	same := ""
	if n := len(p.Findings) - 1; n > 0 {
		var others []string
		for _, f := range p.Findings[1:] {
			others = append(others, digest.Subject(f))
		}
		same = fmt.Sprintf("the same for %d more: %s", n, digest.First(others, digest.MaxNames))
	}
	lines := digest.NonEmpty(names.Of(p), digest.Consequences(p), about, same)
	lines = append(lines, f.Described()...)
	for _, remedy := range f.FirstSteps() {
		mark := "→ "
		for _, text := range remedy.Lines() {
			lines = append(lines, mark+text)
			mark = ""
		}
	}
	return annotation(cmp.Or(commands[p.Severity()], "notice"), strings.TrimSpace(f.Code+" "+f.Title), lines...)
}

var (
	// data escapes the message of a command, property the value of a property, as GitHub's toolkit does.
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotation returns a command with a message of several lines.
func annotation(command, title string, lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		line = escape.Line(strings.Join(strings.Fields(line), " "))
		if b.Len()+len(line) > maxMessage {
			fmt.Fprintf(&b, "\n… and %s more", report.Plural(len(lines)-i, "line"))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return "::" + command + " title=" + property.Replace(escape.Line(title)) + "::" + data.Replace(b.String())
}
