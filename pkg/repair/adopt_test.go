// SPDX-License-Identifier: Apache-2.0

package repair_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const casesDir = "../../test/testdata/adoptions"

// adoptionCase is the first document of a case file; test/testdata/README.md describes it.
type adoptionCase struct {
	Kind        string         `json:"kind"`
	Description string         `json:"description"`
	Source      string         `json:"source"`
	Desired     cases.Desired  `json:"desired"`
	Plans       []expectedPlan `json:"plans"`
}

type expectedPlan struct {
	Policy     ownership.Policy    `json:"policy"`
	TakeFrom   []string            `json:"takeFrom"`
	AgentScope *string             `json:"agentScope"`
	Targets    []string            `json:"targets"`
	Objects    map[string]string   `json:"objects"`
	Refusals   map[string]string   `json:"refusals"`
	Effects    map[string][]string `json:"effects"`
	Changes    map[string][]string `json:"changes"`
	Overwrites map[string][]string `json:"overwrites"`
	Secrets    []string            `json:"secrets"`
	Gaps       []string            `json:"gaps"`
}

// TestPlan makes the plans for each captured cluster in test/testdata/adoptions, and compares them with the expectation
// in its file.
func TestPlan(t *testing.T) {
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	readme, err := cases.Section(casesDir+"/../README.md", "Cases of adoption")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not name the case %s", name)
		}
		var c adoptionCase
		capture, err := cases.Read(file, &c)
		if err != nil || c.Kind != "AdoptionCase" {
			t.Fatalf("reading case %s of kind %q: %v", name, c.Kind, err)
		}
		if err := capture.Complete(nil); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.Plans {
			t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) {
				found := find(t, capture, c.Desired, want)
				o := repair.Options{Policy: want.Policy, TakeFrom: want.TakeFrom}
				items, _ := repair.Adoptions(found.Result, o)
				want.check(t, items, found.Secrets)
				want.checkScope(t, found)
				slices.Reverse(capture.Documents)
				again, _ := repair.Adoptions(find(t, capture, c.Desired, want).Result, o)
				if repair.Digest(document(items)) != repair.Digest(document(again)) {
					t.Error("the digest depends on the order of the objects")
				}
			})
		}
	}
}

func find(t *testing.T, capture *cases.Capture, desired cases.Desired, want expectedPlan) *audit.Audit {
	t.Helper()
	src, err := capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := audit.Options{Predict: true, AgentScope: want.AgentScope}
	for _, target := range want.Targets {
		kind, name, _ := strings.Cut(target, "/")
		o.Scope.Targets = append(o.Scope.Targets, evaluate.Target{Kind: kind, Name: name})
	}
	desired.Write(t, &o)
	found, err := audit.Run(t.Context(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// key is an object as the case files write it.
func key(r object.Ref) string {
	return r.APIVersion + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}

func (want expectedPlan) check(t *testing.T, items []repair.Item, secrets *secret.Values) {
	t.Helper()
	objects, overwrites := map[string]string{}, map[string][]string{}
	for _, i := range items {
		k := key(i.Ref)
		objects[k] = string(i.Action) + " " + i.Situation
		for _, d := range i.Overwrites {
			overwrites[k] = append(overwrites[k], d.Path)
		}
		if i.UID == "" || i.Action == report.ActionAdopt != (len(i.Refusals) == 0) || len(i.Changes) == 0 {
			t.Errorf("%s: uid %q, action %s, refusals %q, changes %v", k, i.UID, i.Action, i.Refusals, i.Changes)
		}
		checkText(t, k+": refusals", want.Refusals[k], i.Refusals)
		if e, ok := want.Effects[k]; ok {
			checkTexts(t, k+": effects", e, i.Effects)
		}
		if c, ok := want.Changes[k]; ok {
			if diff := cmp.Diff(c, changes(i)); diff != "" {
				t.Errorf("%s: changes (-want +got):\n%s", k, diff)
			}
		}
	}
	if diff := cmp.Diff(want.Objects, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if want.Overwrites != nil {
		if diff := cmp.Diff(want.Overwrites, overwrites); diff != "" {
			t.Errorf("overwrites (-want +got):\n%s", diff)
		}
	}
	text, err := json.Marshal(document(items).Redacted(secrets))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range want.Secrets {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("the plan shows secret %d of the case", i+1)
		}
	}
}

func document(items []repair.Item) *report.Repair {
	d := &report.Repair{}
	for _, i := range items {
		d.Objects = append(d.Objects, i.RepairedObject)
	}
	return d
}

// checkScope checks that only the targets are audited, and compares the gaps.
func (want expectedPlan) checkScope(t *testing.T, found *audit.Audit) {
	t.Helper()
	for _, d := range found.Deployments {
		if len(want.Targets) > 0 && !slices.Contains(want.Targets, "bundledeployment/"+d.Name) {
			t.Errorf("%s is audited, and is not a target", d.Key())
		}
	}
	if want.Gaps != nil {
		var gaps []string
		for _, g := range found.Report().Gaps {
			gaps = append(gaps, g.What+": "+g.Why()+": "+g.Effect)
		}
		checkTexts(t, "gaps", want.Gaps, gaps)
	}
}

func changes(i repair.Item) []string {
	var out []string
	show := func(v *string) string {
		if v == nil {
			return "-"
		}
		return *v
	}
	for _, c := range i.Changes {
		out = append(out, fmt.Sprintf("%s %s: %s -> %s", c.Field, c.Key, show(c.Old), show(c.New)))
	}
	return out
}

// checkText checks that one of the texts contains a part. An empty part matches any texts.
func checkText(t *testing.T, what, part string, texts []string) {
	t.Helper()
	if part != "" && !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
		t.Errorf("%s: %q is not in %q", what, part, texts)
	}
}

// checkTexts checks that the number of texts is that of the parts, and that each part is in a text.
func checkTexts(t *testing.T, what string, parts, texts []string) {
	t.Helper()
	if len(parts) != len(texts) {
		t.Errorf("%s: %q, want %q", what, texts, parts)
	}
	for _, p := range parts {
		checkText(t, what, p, texts)
	}
}
