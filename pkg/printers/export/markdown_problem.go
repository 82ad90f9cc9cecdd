// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/escape"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// maxEach is the number of findings of a problem that have details, and maxOfCode that of all problems of a code.
const maxEach, maxOfCode = 10, 40

// problems adds an item for each problem, the most urgent first.
func (d *document) problems(a *report.Audit, all []*digest.Problem) {
	if len(all) == 0 {
		return
	}
	d.add("### Problems", "")
	names := digest.NewHeadlines(a)
	d.list(report.Texts(all, func(p *digest.Problem) string { return problem(names, p) }), 3*share, "more problem")
}

// problem is one problem as an element of a list, with what it is about and what follows from it.
func problem(headlines digest.Headlines, p *digest.Problem) string {
	f := p.First()
	lines := []string{"- **" + string(f.Severity) + "** " + prose(f.Code) + " " + prose(headlines.Of(p))}
	if !digest.AboutFleet(f) && f.Bundle != "" { // equal findings about objects have the same bundle
		lines = append(lines, "  - bundle "+code(f.Bundle))
	}
	if n := len(p.Findings) - 1; n > 0 {
		names := report.Texts(p.Findings[1:], func(f *report.Finding) string { return code(digest.Subject(f)) })
		lines = append(lines, fmt.Sprintf("  - the same for %d more: %s", n, digest.First(names, digest.MaxNames)))
	}
	if so := digest.Consequences(p); so != "" {
		lines = append(lines, "  - "+prose(so))
	}
	return strings.Join(lines, "\n")
}

// details adds the findings of each code with evidence, then their differences, then the ways to proceed. The codes
// have the order of the problems.
func (d *document) details(a *report.Audit, all []*digest.Problem) {
	if len(all) == 0 {
		return
	}
	d.add("### Details", "")
	differences := digest.NewDifferences(a)
	left, known := len(a.Findings), map[string]bool{}
	for i, p := range all {
		if code := p.First().Code; !known[code] {
			known[code] = true
			left -= d.group(code, all[i:], differences)
		}
	}
	if left > 0 {
		d.add(fmt.Sprintf("The details of %s are not shown, because a ticket has a limited length. `-o json` has all.",
			report.Plural(left, "finding")), "")
	}
}

// group adds the first findings of a code, and what follows from them in a line each. It returns the number of those
// that fit.
func (d *document) group(code string, all []*digest.Problem, differences digest.Differences) int {
	var findings, follow, shown []*report.Finding
	for _, p := range all {
		if p.First().Code == code {
			findings = append(findings, p.Findings[:min(len(p.Findings), maxEach)]...)
			follow = append(follow, p.Follow[:min(len(p.Follow), maxEach)]...)
		}
	}
	head := "#### " + link(prose(code), digest.Explanation(findings...)) + " " + prose(findings[0].Title) + "\n\n"
	for _, f := range findings[:min(len(findings), maxOfCode)] {
		if text := head + item(f, differences.Of(f)); d.fits(text) {
			d.b.WriteString(text)
			shown, head = append(shown, f), ""
		}
	}
	if len(shown) == 0 {
		return 0
	}
	left := 0
	for _, f := range follow {
		text := "- " + prose(f.Code) + " " + prose(f.Message) + "\n"
		if !d.fits(text) {
			left++
			continue
		}
		d.b.WriteString(text)
	}
	d.add("")
	d.diffs(shown, differences)
	d.remedies(shown)
	return len(shown) + len(follow) - left
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

// Limit is the greatest length of a document in bytes. GitHub accepts 65,536 characters in an issue or a comment.
const Limit = 60_000

// share is the length that a table or a list may have, so that the other parts have room.
const share = Limit / 8

// document is a document with a limited length.
type document struct{ b strings.Builder }

func (d *document) add(lines ...string) {
	for _, line := range lines {
		d.b.WriteString(line + "\n")
	}
}

// fits reports whether a text can be added.
func (d *document) fits(s string) bool { return d.b.Len()+len(s) <= Limit }

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
	left := d.some(lines, share)
	d.add("")
	if left > 0 {
		d.add(fmt.Sprintf("… and %d more %s.", left, more), "")
	}
}

// list adds the elements of a list that fit into a length. more says what the others are.
func (d *document) list(items []string, length int, more string) {
	if left := d.some(items, length); left > 0 {
		d.add("- … and " + report.Plural(left, more))
	}
	d.add("")
}

// some adds the lines that fit into a length, and returns the number of the others.
func (d *document) some(lines []string, length int) (left int) {
	begin := d.b.Len()
	for _, line := range lines {
		if d.b.Len()-begin+len(line) > length {
			left++
			continue
		}
		d.add(line)
	}
	return left
}

var (
	// plainWord is a word that is only text in every position. Everything else becomes code: in code, GitHub and GitLab
	// recognize no markup, address, mention, reference to an issue or emoji.
	plainWord = regexp.MustCompile(`^\(?(?:[A-Za-z]{1,30}(?:['-][A-Za-z]{1,30})*\)?[.,;:]?|` +
		`[0-9]{1,6}(?:/[0-9]{1,6})?\)?[,;:]?)$`)
	// commitLike is a word that GitHub could take for a commit.
	commitLike = regexp.MustCompile(`^[0-9a-fA-F]{7,}$`)
	backticks  = regexp.MustCompile("`+")
	// webPage is an address without characters that end a link.
	webPage = regexp.MustCompile(`^https://[A-Za-z0-9./_#-]+$`)
)

// prose returns a sentence of a report. Words that could be more than text become code.
func prose(s string) string {
	var out, special []string
	opening := ""
	flush := func(mark string) {
		if len(special) > 0 {
			out, special = append(out, opening+code(strings.Join(special, " "))+mark), nil
		}
		opening = ""
	}
	for _, word := range strings.Fields(s) {
		if plainWord.MatchString(word) && !commitLike.MatchString(word) {
			flush("")
			out = append(out, word)
			continue
		}
		before, bare, after := unwrapped(word)
		if before != "" {
			flush("")
			opening = before
		}
		special = append(special, bare)
		if after != "" {
			flush(after)
		}
	}
	flush("")
	return strings.Join(out, " ")
}

// unwrapped returns a word without the parentheses around it and the punctuation after it, which are of the sentence.
func unwrapped(word string) (before, bare, after string) {
	bare = strings.TrimRight(word, ".,;:")
	if strings.HasPrefix(bare, "(") && !strings.HasSuffix(bare, "(") {
		before, bare = "(", bare[1:]
	}
	for strings.HasSuffix(bare, ")") && strings.Count(bare, ")") > strings.Count(bare, "(") {
		bare = bare[:len(bare)-1]
	}
	if bare == "" {
		return "", word, ""
	}
	return before, bare, word[len(before)+len(bare):]
}

// code returns a text as a code span, "" for an empty text.
func code(s string) string {
	s = escape.Line(strings.Join(strings.Fields(s), " "))
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longest(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// link returns a text that is plain as a link to a page, or only the text if the address is not one of a web page.
func link(s, url string) string {
	if !webPage.MatchString(url) {
		return s
	}
	return "[" + s + "](" + url + ")"
}

// cell returns markdown for a cell of a table, in which a bar ends the cell also inside code.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// block returns a fenced block of code.
func block(language, content string) string {
	content = strings.TrimSuffix(escape.Text(content), "\n")
	fence := strings.Repeat("`", max(3, longest(content)+1))
	return fence + language + "\n" + content + "\n" + fence + "\n"
}

// longest is the length of the longest run of backticks.
func longest(s string) int {
	n := 0
	for _, run := range backticks.FindAllString(s, -1) {
		n = max(n, len(run))
	}
	return n
}
