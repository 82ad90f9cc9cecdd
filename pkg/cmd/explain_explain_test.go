// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// constants returns the values of the string constants of a type that a package declares, without those of its tests.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	files, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Type == nil || types.ExprString(spec.Type) != typ {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					s, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					if s != "" {
						out = append(out, s)
					}
				}
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("%s declares no constant of type %s", dir, typ)
	}
	return out
}

// TestEveryWordIsExplained checks that each state, reason, cause, step and situation that the code declares has a topic
// of its kind.
func TestEveryWordIsExplained(t *testing.T) {
	topics := cmd.Topics()
	for _, declared := range []struct {
		kind     report.TopicKind
		dir, typ string
	}{
		{report.TopicState, "report", "State"},
		{report.TopicState, "evaluate", "State"},
		{report.TopicReason, "ownership", "Class"},
		{report.TopicReason, "source", "Reason"},
		{report.TopicReason, "directory", "Problem"},
		{report.TopicCause, "check/facts", "Cause"},
		{report.TopicStep, "check", "StepKind"},
		{report.TopicSituation, "ownership", "Situation"},
	} {
		for _, word := range constants(t, declared.dir, declared.typ) {
			internal := word == "VersionUnknown" // it stays inside of resolve
			if !internal && !slices.ContainsFunc(topics, func(x report.Topic) bool {
				return x.Kind == declared.kind && x.Name == word
			}) {
				t.Errorf("%s %s of package %s is not explained", declared.kind, word, declared.dir)
			}
		}
	}
}

// TestExplainTopics checks that each topic is complete, and that the facts that it cites exist.
func TestExplainTopics(t *testing.T) {
	behaviour, err := os.ReadFile("../../docs/fleet-behavior.md")
	if err != nil {
		t.Fatal(err)
	}
	findings, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	issue := regexp.MustCompile(`^https://github\.com/rancher/(fleet|rancher)/issues/(\d+)$`)
	for _, x := range cmd.Topics() {
		id := string(x.Kind) + " " + x.Name
		if seen[id] {
			t.Errorf("%s is explained twice", id)
		}
		seen[id] = true
		if x.What == "" || strings.HasSuffix(x.What, ".") {
			t.Errorf("%s: a meaning is a phrase without a full stop: %q", id, x.What)
		}
		if x.Kind == report.TopicFinding && (x.Why == "" || x.Evidence == "" || x.Remedy == "" || x.Versions == "" ||
			len(x.Sections) == 0 || x.Severity == "") {
			t.Errorf("%s is not complete: %+v", id, x)
		}
		for _, text := range []string{x.Why, x.Evidence} {
			if text != "" && !strings.HasSuffix(text, ".") {
				t.Errorf("%s: a sentence ends with a full stop: %q", id, text)
			}
		}
		for _, section := range x.Sections {
			if !strings.Contains(string(behaviour), "\n### "+section+" ") {
				t.Errorf("%s cites section %s, which does not exist", id, section)
			}
		}
		for _, address := range x.Issues {
			m := issue.FindStringSubmatch(address)
			if len(m) == 0 || !strings.Contains(string(behaviour), "#"+m[2]) {
				t.Errorf("%s: docs/fleet-behavior.md does not name the issue %s", id, address)
			}
		}
		page, anchor, _ := strings.Cut(x.URL, "findings.md#")
		if anchor != "" && !strings.Contains(string(findings), `<a id="`+anchor+`"></a>`) {
			t.Errorf("%s: %s has no anchor %s", id, page, anchor)
		}
	}
}

// TestFind checks that a word is found in any case, by its code or its title, with all of its meanings.
func TestFind(t *testing.T) {
	topics := cmd.Topics()
	for name, want := range map[string][]string{
		"FD101":       {"Finding FD101"},
		"fd101":       {"Finding FD101"},
		"missing":     {"Finding FD101", "State Missing"},
		"lag":         {"Cause Lag"},
		"Forbidden":   {"Reason Forbidden"},
		"NoMark":      {"Situation NoMark"},
		"NoMetadata":  {"Situation NoMark"},
		"contested":   {"Finding FD103", "Rule Contested", "Situation Contested"},
		"AgentSilent": {"Step AgentSilent"},
		"FD999":       nil,
		"":            nil,
	} {
		var got []string
		for _, x := range cmd.FindTopics(topics, name) {
			got = append(got, string(x.Kind)+" "+x.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	names := cmd.TopicNames(topics)
	if slices.Sort(names); len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("a name is listed twice")
	}
}
