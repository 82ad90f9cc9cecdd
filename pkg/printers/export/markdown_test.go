// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gfm "github.com/yuin/goldmark/extension/ast"
	parser "github.com/yuin/goldmark/text"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

func markdownWritten(t *testing.T, a *report.Audit) string {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteMarkdown(&b, a); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// document is what a parser of GitHub's Markdown reads.
type document struct {
	blocks []string // the kinds of blocks, in order
	bare   string   // the text outside code
	all    string   // the whole text, with single blanks
	codes  []string // the contents of fenced blocks
	markup []string // links, images, addresses and HTML
}

func markdownRead(t *testing.T, source string) document {
	t.Helper()
	src := []byte(source)
	var out document
	var bare, all strings.Builder
	err := ast.Walk(goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(parser.NewReader(src)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				if n.Type() == ast.TypeBlock || n.Kind() == gfm.KindTableCell {
					all.WriteString(" ")
				}
				return ast.WalkContinue, nil
			}
			if n.Type() == ast.TypeBlock {
				out.blocks = append(out.blocks, n.Kind().String())
			}
			switch n := n.(type) {
			case *ast.FencedCodeBlock:
				content := string(n.Lines().Value(src))
				out.codes = append(out.codes, content)
				all.WriteString(content + " ")
			case *ast.Text:
				content := string(n.Value(src))
				if n.SoftLineBreak() {
					content += " "
				}
				all.WriteString(content)
				if n.Parent().Kind() != ast.KindCodeSpan {
					bare.WriteString(content)
				}
			case *ast.Link, *ast.Image, *ast.AutoLink, *ast.RawHTML, *gfm.Strikethrough, *gfm.TaskCheckBox:
				out.markup = append(out.markup, n.Kind().String())
			case *ast.HTMLBlock:
				out.markup = append(out.markup, strings.TrimSpace(string(n.Lines().Value(src))))
			}
			return ast.WalkContinue, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	out.bare, out.all = bare.String(), normal(all.String())
	return out
}

func normal(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestMarkdownGolden(t *testing.T) {
	for name, a := range map[string]*report.Audit{"sick": reports.Sample(t, "sick"),
		"clean": reports.Sample(t, "clean"), "full": reports.Full()} {
		golden.Compare(t, name+".md", markdownWritten(t, a))
	}
}

// TestMarkdownHostile checks that texts of the cluster are only text: they make no block, link, image, HTML, mention,
// reference or emoji.
func TestMarkdownHostile(t *testing.T) {
	plain := markdownRead(t, markdownWritten(t, reports.Hostile(reports.Full(), " x")))
	folds := slices.Repeat([]string{"<details><summary>Differences (- bundle, + cluster)</summary>", "</details>"},
		2) // of FD102 and FD104
	for _, evil := range []string{
		" @someone #1 !1 ~1 %1 org/repo#1 GH-1 JIRA-12 someone@example.com :smile: deadbeef " +
			"0123456789012345678901234567890123456789",
		" www.example.com https://example.com [x](https://example.com) ![x](y) <b>x</b> <!-- x --> </details> &lt; " +
			"**x** ~~x~~ \\",
		" a|b \\|c `d`|``e`` |\n| f |",
		"\n# x\n\n- y\n\n```\nz\n````\n~~~\n</details>\n\n| a |\n|---|\n===\n---\n1. x\n* [ ] x\n    code", "`",
		"``` ```` `````", " \u202e\x1b[31m\u2028", " $x^2$ ^[x] [^1]: [[x]]",
	} {
		got := markdownRead(t, markdownWritten(t, reports.Hostile(reports.Full(), evil)))
		if !slices.Equal(got.blocks, plain.blocks) {
			t.Errorf("%q changes the blocks of the document", evil)
		}
		if !slices.Equal(got.markup, folds) {
			t.Errorf("%q becomes markup: %q", evil, got.markup)
		}
		// The product's own text has only these characters.
		allowed := func(r rune) bool {
			return r == ' ' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune(".,;:()/?'-–→…❌❔", r)
		}
		if i := strings.IndexFunc(got.bare, func(r rune) bool { return !allowed(r) }); i >= 0 {
			t.Errorf("%q is outside code: %q", evil, got.bare[max(0, i-20):min(len(got.bare), i+20)])
		}
		for _, word := range []string{"www.", "://", "GH-1", "JIRA", "deadbeef", ":smile"} {
			if strings.Contains(got.bare, word) {
				t.Errorf("%q is outside code", word)
			}
		}
	}
}

// TestLink checks that only the address of a web page becomes a link.
func TestLink(t *testing.T) {
	a := reports.Full()
	for url, want := range map[string]int{"https://example.com/findings.md#fd101": 1, "javascript:alert(1)": 0,
		"https://example.com/) [x](y": 0, "https://example.com/>": 0, "": 0} {
		a.Findings[0].Remedies[0].URL = url
		if got := len(slices.DeleteFunc(markdownRead(t, markdownWritten(t, a)).markup, func(s string) bool {
			return s != "Link"
		})); got != want {
			t.Errorf("%q: %d links, want %d", url, got, want)
		}
	}
}

// TestMarkdownNothingIsLost checks that a parser reads every part of a report, and every command unchanged.
func TestMarkdownNothingIsLost(t *testing.T) {
	a := reports.Full()
	got := markdownRead(t, markdownWritten(t, a))
	var want, commands []string
	for _, f := range a.Findings {
		want = append(append(append(want, f.Code, f.Message), f.Evidence...), f.Clusters...)
		for _, r := range f.Remedies {
			want = append(want, r.Text)
			commands = append(commands, r.Command)
		}
		if strings.HasPrefix(f.Remediation, "kubectl ") {
			commands = append(commands, f.Remediation)
		} else {
			want = append(want, f.Remediation)
		}
	}
	for _, g := range a.Gaps {
		want = append(want, g.What, g.Why(), g.Effect)
	}
	for _, d := range a.BundleDeployments[0].Resources[3].Differences {
		want = append(want, d.Path, d.Who(), d.Note)
	}
	for _, w := range append(append(want, a.Notes...), a.BundleDeployments[2].Reason) {
		if !strings.Contains(got.all, normal(w)) {
			t.Errorf("the document has no %q", w)
		}
	}
	for _, line := range []string{"-one", "+two", "-***1", "+***2", "! release record: 2", "-true"} {
		if !slices.ContainsFunc(got.codes, func(code string) bool {
			return slices.Contains(strings.Split(code, "\n"), line)
		}) {
			t.Errorf("no block has the line %q", line)
		}
	}
	for _, c := range commands {
		if c != "" && !slices.ContainsFunc(got.codes, func(code string) bool {
			return slices.Contains(strings.Split(code, "\n"), c)
		}) {
			t.Errorf("no block has the command %q", c)
		}
	}
}

// TestLimit checks that a long document fits into a ticket, has the problems before the tables, and counts what it
// leaves out.
func TestLimit(t *testing.T) {
	a := reports.Fleet(300, 50, 50)
	for i := range 500 {
		a.Gaps = append(a.Gaps, report.Gap{What: fmt.Sprintf("reading Shop objects in namespace shop-%03d", i),
			Reason: "Forbidden", Detail: strings.Repeat("long ", 100), Effect: "they are Unknown"})
		a.Notes = append(a.Notes, strings.Repeat("note ", 100))
	}
	out := markdownWritten(t, a)
	if n := len(out); n > 65_536 || n < export.Limit/2 {
		t.Errorf("%d bytes", n)
	}
	problems, rest, _ := strings.Cut(out, "### Not read\n")
	tables, details, _ := strings.Cut(rest, "### Details\n")
	items := strings.Count(problems, "\n- **")
	more := regexp.MustCompile(`… and ([0-9]+) more problems`).FindStringSubmatch(problems)
	if items < 50 || len(more) != 2 || more[1] != strconv.Itoa(601-items) {
		t.Errorf("%d of 601 problems are listed, and %q are counted", items, more)
	}
	rows := strings.Count(tables, "\n| `fleet-default/repo")
	if counted := fmt.Sprintf("… and %d more bundles", 300-rows); rows < 50 || !strings.Contains(tables, counted) {
		t.Errorf("%d bundles are in the table, and the document does not say %q", rows, counted)
	}
	shown := len(regexp.MustCompile("(?m)^- (`[^`]|deployment )").FindAllString(details, -1))
	if omitted := fmt.Sprintf("details of %d findings are not shown", len(a.Findings)-shown); shown == 0 ||
		!strings.Contains(details, omitted) {
		t.Errorf("%d findings are shown, and the document does not say %q", shown, omitted)
	}
}

// TestMarkdownUnknown checks that a report with something unread does not look like one without problems.
func TestMarkdownUnknown(t *testing.T) {
	ready := report.BundleDeployment{Name: "a", State: report.Ready, Counts: report.Counts{Desired: 1, Ready: 1}}
	for name, a := range map[string]*report.Audit{
		"nothing": {},
		"a gap":   {BundleDeployments: []report.BundleDeployment{ready}, Gaps: []report.Gap{{What: "x"}}},
		"no result": {BundleDeployments: []report.BundleDeployment{ready, {Name: "b", State: report.Unknown,
			Reason: "ClusterNotRead"}}},
	} {
		if out := markdownWritten(t, a); strings.Contains(out, "✅") {
			t.Errorf("%s: shown as good:\n%s", name, out)
		}
	}
	if out := markdownWritten(t, &report.Audit{BundleDeployments: []report.BundleDeployment{ready},
		Summary: report.Summary{Counts: ready.Counts}}); !strings.Contains(out, "✅") {
		t.Error("a clean report is not shown as good")
	}
}

type markdownFailing struct{}

func (markdownFailing) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestMarkdownWriteFails(t *testing.T) {
	if err := export.WriteMarkdown(markdownFailing{}, reports.Full()); err == nil {
		t.Error("no error for a failed write")
	}
}
