// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// eachCase calls f for each case in test/testdata/cases that has a report.
func eachCase(t *testing.T, f func(t *testing.T, c *caseFile)) {
	t.Helper()
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			if c := readCase(t, file); c.Expect.Error == "" {
				f(t, c)
			}
		})
	}
}

// TestRemedies checks that every finding of the captured cases has a remedy, that each command is one line that can be
// run as it is, and that no text has a command.
func TestRemedies(t *testing.T) {
	page, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	eachCase(t, func(t *testing.T, c *caseFile) {
		t.Helper()
		got, err := c.run(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			if len(f.Remedies) == 0 {
				t.Errorf("%s: no remedy: %s", f.Code, f.Message)
				continue
			}
			if first := f.Remedies[0]; f.Remediation != first.Command &&
				(first.Command != "" || f.Remediation != first.Text) {
				t.Errorf("%s: the remediation %q is not the first remedy %+v", f.Code, f.Remediation, first)
			}
			for _, r := range f.Remedies {
				for _, problem := range remedyProblems(r) {
					t.Errorf("%s: %s: %+v", f.Code, problem, r)
				}
				_, anchor, _ := strings.Cut(r.URL, "/docs/findings.md#")
				if anchor == "" || !strings.Contains(string(page), fmt.Sprintf("<a id=%q></a>", anchor)) {
					t.Errorf("%s: docs/findings.md has no anchor for %q", f.Code, r.URL)
				}
			}
		}
	})
}

var (
	// commandInText matches a command or a flag.
	commandInText = regexp.MustCompile("\\b(kubectl|helm) |(^| )--?[a-z]|[`$\n]")
	// placeholder matches a word that a user has to replace.
	placeholder = regexp.MustCompile(`^<.*>$|^[A-Z][A-Z_-]+(=|$)|=[A-Z][A-Z_-]+$`)
)

// remedyProblems returns what is wrong with a remedy.
func remedyProblems(r report.Remedy) []string {
	var out []string
	if r.Text == "" || commandInText.MatchString(r.Text) || strings.HasSuffix(r.Text, ".") {
		out = append(out, "the text is not a sentence without full stop and without a command")
	}
	if r.Command == "" {
		return out
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(r.Command), "")
	if err != nil || len(file.Stmts) != 1 || strings.Contains(r.Command, "\n") {
		return append(out, fmt.Sprintf("the command is not one line for a shell: %v", err))
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ProcSubst, *syntax.Redirect, *syntax.Subshell:
			out = append(out, fmt.Sprintf("the command has a %T", n))
		case *syntax.CallExpr:
			if program := n.Args[0].Lit(); !slices.Contains([]string{"kubectl", "helm", "awk"}, program) {
				out = append(out, "the command runs the program "+program)
			}
		case *syntax.Word:
			if placeholder.MatchString(n.Lit()) {
				out = append(out, "the command has the placeholder "+n.Lit())
			}
		}
		return true
	})
	return out
}

// TestRemedyProblems checks the check.
func TestRemedyProblems(t *testing.T) {
	for r, wrong := range map[report.Remedy]bool{
		{Text: "shows it", Command: "kubectl -n web get configmap/a -o jsonpath='{.data}'"}: false,
		{Text: "remove it from all bundles but one"}:                                        false,
		{Text: "does both", Command: "kubectl get a && kubectl get b"}:                      false,
		{Command: "kubectl get a"}:                                                          true,
		{Text: "run kubectl get a"}:                                                         true,
		{Text: "take it over: adopt --policy=x"}:                                            true,
		{Text: "x", Command: "kubectl get a; kubectl get b"}:                                true,
		{Text: "x", Command: "kubectl get $(reboot)"}:                                       true,
		{Text: "x", Command: "kubectl get 'a"}:                                              true,
		{Text: "x", Command: "kubectl get a > b"}:                                           true,
		{Text: "x", Command: "if x is y: kubectl get a"}:                                    true,
		{Text: "x", Command: "kubectl --context CONTEXT"}:                                   true,
		{Text: "x", Command: "kubectl fleetdoctor --a NAME=PATH"}:                           true,
	} {
		if got := remedyProblems(r); (len(got) > 0) != wrong {
			t.Errorf("%+v: %q", r, got)
		}
	}
}

// TestStableIDs checks that the identity of a finding is unique, and depends neither on messages nor on other findings.
func TestStableIDs(t *testing.T) {
	eachCase(t, func(t *testing.T, c *caseFile) {
		t.Helper()
		a, err := c.audit(t)
		if err != nil {
			t.Fatal(err)
		}
		var together, alone []string
		for _, f := range report.NewAudit(a.Result, a.Findings, "").Findings {
			together = append(together, f.ID)
		}
		for _, f := range a.Findings {
			f.Message, f.Evidence, f.Remedies = "changed", nil, nil
			alone = append(alone, report.NewAudit(a.Result, []check.Finding{f}, "").Findings[0].ID)
		}
		slices.Sort(together)
		slices.Sort(alone)
		if diff := cmp.Diff(together, alone); diff != "" {
			t.Errorf("identities (-together +alone):\n%s", diff)
		}
		if n := len(slices.Compact(alone)); n != len(together) {
			t.Errorf("%d identities of %d findings", n, len(together))
		}
	})
}
