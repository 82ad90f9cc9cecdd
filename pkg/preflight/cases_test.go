// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/preflight"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const casesDir = "../../test/testdata/preflights"

// preflightCase is the first document of a case file; test/testdata/README.md describes it.
type preflightCase struct {
	Kind        string              `json:"kind"`
	Description string              `json:"description"`
	Source      string              `json:"source"`
	Targets     []string            `json:"targets"`
	Desired     cases.Desired       `json:"desired"`
	NotCaptured []string            `json:"notCaptured"`
	Expect      map[string]expected `json:"expect"`
	Elsewhere   int                 `json:"elsewhere"`
	// Notes are parts of the texts of all notes.
	Notes []string `json:"notes"`
	// Gaps are what could not be read, of all gaps. Without them, gaps are not compared.
	Gaps    []string `json:"gaps"`
	Secrets []string `json:"secrets"`
}

type expected struct {
	Verdict report.Verdict       `json:"verdict"`
	Action  string               `json:"action"`
	Release string               `json:"release"`
	Counts  report.RolloutCounts `json:"counts"`
	// Items are all items: a part of the text by rule and object. The key has the severity if it is not that of the
	// rule: "Rule:warning".
	Items map[string]string `json:"items"`
	// Overwrites are the paths of all differences, by item.
	Overwrites map[string][]string `json:"overwrites"`
	// Remediations are compared only for the items that are listed here.
	Remediations map[string]string `json:"remediations"`
}

// TestCheck predicts the rollouts on each captured cluster in test/testdata/preflights, and compares them with the
// expectation in its file.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	readme, err := cases.Section(casesDir+"/../README.md", "Cases of preflight")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not name the case %s", name)
		}
		t.Run(name, func(t *testing.T) {
			var c preflightCase
			capture, err := cases.Read(file, &c)
			if err != nil || c.Kind != "PreflightCase" {
				t.Fatalf("reading case of kind %q: %v", c.Kind, err)
			}
			if err := capture.Complete(c.NotCaptured); err != nil {
				t.Fatal(err)
			}
			got := c.run(t, capture)
			c.check(t, got, covered)
			slices.Reverse(capture.Documents)
			if diff := cmp.Diff(string(asJSON(t, got)), string(asJSON(t, c.run(t, capture)))); diff != "" {
				t.Errorf("the report depends on the order of the objects (-first +second):\n%s", diff)
			}
		})
	}
	for _, r := range preflight.Rules() {
		server := []string{"ServerRefuses", "ServerWarns", "NotAsked", "KindNotServed"}
		if slices.Contains(server, r.Name) {
			continue // test/e2e has an API server
		}
		if !covered[r.Name] {
			t.Errorf("no case covers the rule %s", r.Name)
		}
	}
}

func (c *preflightCase) run(t *testing.T, capture *cases.Capture) *report.Preflight {
	t.Helper()
	src, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commands := cases.Commands
	commands.Files = "-f guestbook"
	o := audit.Options{Predict: true, Staged: true, Desired: audit.DesiredBundle, Commands: commands}
	if len(c.Desired.Files) > 0 {
		c.Desired.Write(t, &o)
	}
	for _, target := range c.Targets {
		kind, name, _ := strings.Cut(target, "/")
		o.Scope.Targets = append(o.Scope.Targets, evaluate.Target{Kind: kind, Name: name})
	}
	found, err := audit.Run(t.Context(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	in := found.Input()
	rollouts, elsewhere := preflight.Check(in)
	if elsewhere != c.Elsewhere {
		t.Errorf("%d rollouts on other clusters, want %d", elsewhere, c.Elsewhere)
	}
	shown := found.Report()
	out := &report.Preflight{BundleDeployments: rollouts, Gaps: preflight.Gaps(in), Notes: shown.Notes}
	return out.Redacted(found.Secrets)
}

func (c *preflightCase) check(t *testing.T, got *report.Preflight, covered map[string]bool) {
	t.Helper()
	seen := map[string]expected{}
	for _, r := range got.BundleDeployments {
		key := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
		want := c.Expect[key]
		out := expected{Verdict: r.Verdict, Action: r.Action, Release: r.Release, Counts: r.Counts,
			Items: map[string]string{}, Overwrites: map[string][]string{}}
		if n := r.Counts; n.Desired != n.Create+n.TakeOver+n.Change+n.Keep+n.Unknown {
			t.Errorf("%s: the counts do not add up: %+v", key, n)
		}
		for _, item := range r.Items {
			name := itemKey(item)
			covered[item.Rule] = true
			if _, twice := out.Items[name]; twice {
				t.Errorf("%s: two items %s", key, name)
			}
			for _, r := range item.Remedies {
				if r.URL != preflight.URL(item.Rule) {
					t.Errorf("%s: item %s has a remedy with the address %q", key, name, r.URL)
				}
			}
			out.Items[name] = item.Message
			if text, ok := want.Items[name]; ok && strings.Contains(item.Message, text) {
				out.Items[name] = text
			}
			for _, d := range item.Overwrites {
				out.Overwrites[name] = append(out.Overwrites[name], d.Path)
			}
			if text, ok := want.Remediations[name]; ok && text != remedies(item) {
				t.Errorf("%s: %s: remedies %q, want %q", key, name, remedies(item), text)
			}
		}
		out.Remediations = want.Remediations
		if want.Overwrites == nil && len(out.Overwrites) == 0 {
			out.Overwrites = nil
		}
		if want.Items == nil && len(out.Items) == 0 {
			out.Items = nil
		}
		seen[key] = out
	}
	if diff := cmp.Diff(c.Expect, seen); diff != "" {
		t.Errorf("rollouts (-want +got):\n%s", diff)
	}
	if !slices.EqualFunc(c.Notes, got.Notes, func(want, got string) bool { return strings.Contains(got, want) }) {
		t.Errorf("notes %q, want %q", got.Notes, c.Notes)
	}
	if c.Gaps != nil {
		var gaps []string
		for _, g := range got.Gaps {
			gaps = append(gaps, g.What)
		}
		if diff := cmp.Diff(c.Gaps, gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	}
	text := asJSON(t, got)
	for i, s := range c.Secrets {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("secret %d is in the report", i+1)
		}
	}
}

// itemKey is the rule, the severity if it is not that of the rule, and the object.
func itemKey(item report.PreflightItem) string {
	out := item.Rule
	for _, r := range preflight.Rules() {
		if r.Name == item.Rule && r.Severity != item.Severity {
			out += ":" + string(item.Severity)
		}
	}
	if o := item.Object; o != nil {
		out += " " + o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	}
	return out
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// remedies are the commands of an item, or the sentences without a command.
func remedies(item report.PreflightItem) string {
	var out []string
	for _, r := range item.Remedies {
		text := r.Command
		if text == "" {
			text = r.Text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
