// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/output"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// truth is the known state of a captured cluster. Fleet can report another state.
type truth struct {
	Exit              int                       `json:"exit"`
	Complete          bool                      `json:"complete"` // the report has no other BundleDeployments
	BundleDeployments map[string]trueDeployment `json:"bundleDeployments"`
	Findings          []trueFinding             `json:"findings"`
	// Forbidden are patterns of codes. A warning or error with such a code must be in Findings.
	Forbidden []string `json:"forbidden"`
	Secrets   []string `json:"secrets"`
}

type trueDeployment struct {
	Counts      map[string]int      `json:"counts"`
	Resources   map[string]string   `json:"resources"` // "State" or "State:Reason"
	Differences map[string][]string `json:"differences"`
	Managers    map[string]string   `json:"managers"`
}

type trueFinding struct {
	Code      string `json:"code"` // one or more codes, separated by "|"
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// TestSamples audits clusters that were captured while Fleet's agent ran, and compares each result with the known
// state.
func TestSamples(t *testing.T) {
	for _, name := range []string{"clean", "sick", "drift"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile("../../test/testdata/truth/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/" + name}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := reportOf(audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands}))
			if err != nil {
				t.Fatal(err)
			}
			want.check(t, got)
			checkCounts(t, got)
		})
	}
}

func (w *truth) check(t *testing.T, got *report.Audit) {
	t.Helper()
	if f := got.Summary.Findings; (f.Error+f.Warning > 0) != (w.Exit == 1) {
		t.Errorf("%d errors and %d warnings, want exit status %d", f.Error, f.Warning, w.Exit)
	}
	seen := map[string]bool{}
	for _, bd := range got.BundleDeployments {
		key := bd.Namespace + "/" + bd.Name
		if seen[key] {
			t.Errorf("%s is in the report twice", key)
		}
		seen[key] = true
		want, ok := w.BundleDeployments[key]
		if ok {
			want.check(t, key, bd)
		} else if w.Complete {
			t.Errorf("unexpected bundle deployment %s", key)
		}
	}
	for key := range w.BundleDeployments {
		if !seen[key] {
			t.Errorf("%s is not in the report", key)
		}
	}
	w.checkFindings(t, got.Findings)
	w.checkSecrets(t, got)
}

func (w *trueDeployment) check(t *testing.T, key string, got report.BundleDeployment) {
	t.Helper()
	raw := asJSON(t, got.Counts)
	var counts map[string]int
	if err := json.Unmarshal(raw, &counts); err != nil {
		t.Fatal(err)
	}
	for name, n := range w.Counts {
		if counts[name] != n {
			t.Errorf("%s: %d are %s, want %d", key, counts[name], name, n)
		}
	}
	if counts["unknown"] != w.Counts["unknown"] {
		t.Errorf("%s: %d are unknown", key, counts["unknown"])
	}
	left := map[string]string{}
	for k, v := range w.Resources {
		left[k] = v
	}
	for _, r := range got.Resources {
		rk := resourceKey(r.Ref)
		state, reason, _ := strings.Cut(w.Resources[rk], ":")
		if state == "" {
			state = string(report.Ready)
		}
		delete(left, rk)
		if string(r.State) != state || reason != "" && r.Reason != reason {
			t.Errorf("%s: %s is %s:%s, want %s:%s", key, rk, r.State, r.Reason, state, reason)
		}
		w.checkDifferences(t, key, r)
	}
	for rk, state := range left {
		t.Errorf("%s: %s is not reported, want %s", key, rk, state)
	}
}

func (w *trueDeployment) checkDifferences(t *testing.T, key string, r report.Resource) {
	t.Helper()
	rk := resourceKey(r.Ref)
	var paths, managers []string
	for _, d := range r.Differences {
		paths, managers = append(paths, d.Path), append(managers, d.Manager)
	}
	if want, ok := w.Differences[rk]; ok {
		slices.Sort(want)
		slices.Sort(paths)
		if !slices.Equal(want, paths) {
			t.Errorf("%s: %s differs at %v, want %v", key, rk, paths, want)
		}
	}
	if want, ok := w.Managers[rk]; ok && !slices.Contains(managers, want) {
		t.Errorf("%s: %s was changed by %v, want %s", key, rk, managers, want)
	}
}

func (w *truth) checkFindings(t *testing.T, got []report.Finding) {
	t.Helper()
	severities := map[string]report.Severity{}
	for _, c := range check.Catalogue() {
		severities[c.Code] = report.Severity(c.Severity)
	}
	is := func(want trueFinding, f report.Finding) bool {
		return slices.Contains(strings.Split(want.Code, "|"), f.Code) && want.Kind == f.Object.Kind &&
			want.Namespace == f.Object.Namespace && want.Name == f.Object.Name
	}
	for _, want := range w.Findings {
		if !slices.ContainsFunc(got, func(f report.Finding) bool { return is(want, f) }) {
			t.Errorf("no finding %s on %s %s/%s", want.Code, want.Kind, want.Namespace, want.Name)
		}
	}
	for _, f := range got {
		if severities[f.Code] != f.Severity {
			t.Errorf("%s has severity %q, want %q as in the catalogue", f.Code, f.Severity, severities[f.Code])
		}
		if f.Severity == report.Info || slices.ContainsFunc(w.Findings, func(want trueFinding) bool {
			return is(want, f)
		}) {
			continue
		}
		for _, pattern := range w.Forbidden {
			if regexp.MustCompile("^(?:" + pattern + ")$").MatchString(f.Code) {
				t.Errorf("false finding %s: %s", findingKey(f), f.Message)
			}
		}
	}
}

// checkSecrets looks for the values of Secrets in every format, escapes decoded.
func (w *truth) checkSecrets(t *testing.T, got *report.Audit) {
	t.Helper()
	for _, format := range []string{"table", "wide", "json", "yaml", "name", "go-template={{.}}"} {
		flags := output.NewPrintFlags()
		flags.Format = format
		show, err := flags.ToPrinter()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := show(&out, printers.Audit(got, printers.Options{Diff: true})); err != nil {
			t.Fatal(err)
		}
		for i, s := range w.Secrets {
			if strings.Contains(out.String(), strings.TrimRight(s, "=")) {
				t.Errorf("secret %d is in the output of -o %s", i, format)
			}
		}
	}
}

// TestAgain checks that a second audit of the same bundle deployment gives the same result.
func TestAgain(t *testing.T) {
	for _, predict := range []bool{true, false} {
		s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/sick"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := audit.Run(t.Context(), s, audit.Options{Predict: predict, KeepManifests: !predict})
		if err != nil {
			t.Fatal(err)
		}
		first := found.Deployments[0]
		again, err := found.Again(t.Context(), []object.DeploymentID{first.ID()})
		if err != nil || len(again) != 1 || again[0].Key() != first.Key() || again[0].Counts != first.Counts {
			t.Errorf("%+v, error %v, want %+v", again, err, first.Counts)
		}
	}
}
