// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is one piece of a page that shows commands.
type block struct {
	line  int
	steps []step
}

// step is a shell script. Only a step of a transcript has an output: what the script prints.
type step struct {
	script     string
	transcript bool
	output     string
}

// pages are the paths of all pages, relative to the root of the module.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range more {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(file), root+"/"))
		}
	}
	return found
}

var (
	fence   = regexp.MustCompile("^ *```([a-z]*)$")
	program = regexp.MustCompile(`^\s*(\$ |- run: |run: )?([A-Z_]+=("[^"]*"|\S+) )*` +
		`(kubectl fleetdoctor|(bin/)?kubectl-fleetdoctor)( |$)`)
	inline = regexp.MustCompile("`(kubectl fleetdoctor [a-z][^`]*)`")
)

// read returns the commands of a page in the order in which they are shown. A block without a language has commands if
// it begins with one, or with a comment and then one. A usage line ends with "[flags]" and is not a command.
func read(t *testing.T, page string) []block {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	var lines []string
	language, begin := "", 0
	for i, line := range strings.Split(string(raw), "\n") {
		opening := fence.FindStringSubmatch(line)
		switch {
		case begin == 0 && opening != nil:
			language, begin, lines = opening[1], i+1, nil
		case begin == 0:
			for _, code := range inline.FindAllStringSubmatch(line, -1) {
				found = append(found, block{line: i + 1, steps: []step{{script: code[1]}}})
			}
		case strings.TrimSpace(line) == "```":
			if b := parse(t, page, begin, language, lines); len(b.steps) > 0 {
				found = append(found, b)
			}
			begin = 0
		default:
			lines = append(lines, line)
		}
	}
	if begin != 0 {
		t.Errorf("%s:%d: the block has no end", page, begin)
	}
	return found
}

func parse(t *testing.T, page string, line int, language string, lines []string) block {
	t.Helper()
	b := block{line: line}
	text := strings.Join(lines, "\n")
	first := ""
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			first = l
			break
		}
	}
	switch {
	case strings.HasPrefix(first, "$ "):
		b.steps = transcript(lines)
	case language == "sh", language == "" && program.MatchString(first) && !strings.HasSuffix(first, "[flags]"):
		b.steps = []step{{script: text}}
	case language == "yaml":
		for _, l := range lines {
			if _, script, ok := strings.Cut(l, "run: "); ok {
				b.steps = append(b.steps, step{script: script})
			}
		}
	default:
		for _, l := range lines {
			if program.MatchString(l) && !strings.HasSuffix(l, "[flags]") {
				t.Errorf("%s:%d: a command in a block that is neither a script (sh) nor a transcript ($): %s",
					page, line, l)
			}
		}
	}
	return b
}

// transcript splits the lines "$ command" from the output that follows each.
func transcript(lines []string) []step {
	var steps []step
	for _, l := range lines {
		if script, ok := strings.CutPrefix(l, "$ "); ok {
			steps = append(steps, step{script: script, transcript: true})
		} else {
			steps[len(steps)-1].output += l + "\n"
		}
	}
	return steps
}

// matches compares an output with a transcript. A line that is only "…" stands for any number of lines.
func matches(shown, printed string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for l := range strings.Lines(shown) {
		if strings.TrimSpace(l) == "…" {
			pattern.WriteString(`(?s:(?:.*\n)?)`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(l))
		}
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(printed)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n  …\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\n", "b\nc\n", false},
		{"a.\n", "ab\n", false},
	} {
		if got := matches(c.shown, c.printed); got != c.want {
			t.Errorf("matches(%q, %q) = %t", c.shown, c.printed, got)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^):#]*)(#[^)]*)?\)`)

// TestLinks checks that the files and the sections that pages link to exist.
func TestLinks(t *testing.T) {
	sections := map[string]map[string]bool{}
	for _, page := range pages(t) {
		sections[page] = anchors(content(t, page))
	}
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(content(t, page), -1) {
			target := page
			if found[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), found[1]))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, found[1])
			}
			if anchor := strings.TrimPrefix(found[2], "#"); anchor != "" && !sections[target][anchor] {
				t.Errorf("%s links to %s%s, a section that does not exist", page, found[1], found[2])
			}
		}
	}
}

func content(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var (
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	stated      = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the anchors of a page: those that it states, and those that GitHub makes of its headings.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range stated.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// internals are the pages about how the program works. fleet-behavior.md is beside the other pages, because comments in
// the code cite it by its path.
func internals(page string) bool {
	return strings.HasPrefix(page, "docs/internals/") || page == "docs/fleet-behavior.md"
}

// TestIndex checks that docs/README.md has every page once: those about how the program works below "How it works", and
// all others below "Use it".
func TestIndex(t *testing.T) {
	use, works, ok := strings.Cut(content(t, "docs/README.md"), "\n## How it works\n")
	if !ok || !strings.Contains(use, "\n## Use it\n") {
		t.Fatal("docs/README.md has no part Use it, or no part How it works")
	}
	for _, page := range pages(t) {
		path, in := strings.CutPrefix(page, "docs/")
		if !in || path == "README.md" {
			continue
		}
		part, other := use, works
		if internals(page) {
			part, other = works, use
		}
		if strings.Count(part, "]("+path+")") != 1 || strings.Contains(other, "]("+path+")") {
			t.Errorf("docs/README.md does not link to %s once, in its part", page)
		}
	}
}
