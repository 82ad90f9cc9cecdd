// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/codes"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/query"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const testdata = "../../test/testdata"

// snapshots returns a function for each captured cluster that opens it.
func snapshots(t *testing.T) map[string]func() source.Source {
	t.Helper()
	out := map[string]func() source.Source{}
	for _, name := range []string{"sick", "clean", "drift"} {
		out[name] = func() source.Source { return opened(t, filepath.Join(testdata, name)) }
	}
	files, err := filepath.Glob(testdata + "/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = func() source.Source { return caseOf(t, file) }
	}
	reports, err := filepath.Glob(testdata + "/reports/*.yaml")
	if err != nil || len(reports) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	for _, file := range reports {
		stages, err := cases.Stages(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range stages {
			if err := s.CompleteCluster(); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("reports/%s:%d", strings.TrimSuffix(filepath.Base(file), ".yaml"), i+1)
			out[name] = func() source.Source { return streamed(t, s.Capture) }
		}
	}
	return out
}

// streamed opens a capture that states what it has.
func streamed(t *testing.T, c *cases.Capture) source.Source {
	t.Helper()
	in, err := c.Stream()
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func opened(t *testing.T, path string) source.Source {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// caseOf opens a case file as a snapshot.
func caseOf(t *testing.T, file string) source.Source {
	t.Helper()
	var head map[string]any
	c, err := cases.Read(file, &head)
	if err != nil {
		t.Fatal(err)
	}
	var notCaptured []string
	listed, _ := head["notCaptured"].([]any)
	for _, kind := range listed {
		notCaptured = append(notCaptured, fmt.Sprint(kind))
	}
	if err := c.Complete(notCaptured); err != nil {
		t.Fatal(err)
	}
	s, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// explained explains targets of a source.
func explained(t *testing.T, src source.Source, targets ...evaluate.Target) *report.Why {
	t.Helper()
	all := query.WhyTargets(targets)
	found, err := audit.Run(t.Context(), src,
		audit.Options{Commands: cases.Commands, Scope: evaluate.Scope{Targets: all}, Pick: query.Pick})
	if err != nil {
		t.Fatalf("%v: %v", targets, err)
	}
	return query.Explain(found.Input(), found.Findings, all, nil, "test").Redacted(found.Secrets)
}

// TestAgreesWithAudit explains every object of every captured cluster, and compares with the audit of the whole
// cluster: what an audit calls ready is ready, what it calls not ready is not, and each chain is finite and ends in one
// root.
func TestAgreesWithAudit(t *testing.T) {
	explanations := 0
	for name, open := range snapshots(t) {
		found, err := audit.Run(t.Context(), open(), audit.Options{Commands: cases.Commands})
		if err != nil {
			continue // a case without Fleet, or with an error of the audit
		}
		whole := found.Report()
		var targets []evaluate.Target
		states := map[string]report.BundleDeployment{}
		for _, d := range whole.BundleDeployments {
			key := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
			targets = append(targets, evaluate.Target{Kind: evaluate.TargetBundleDeployment, Name: key})
			states[key] = d
		}
		for kind, list := range map[string][]report.Aggregate{evaluate.TargetBundle: whole.Bundles,
			evaluate.TargetGitRepo: whole.GitRepos, evaluate.TargetHelmOp: whole.HelmOps,
			evaluate.TargetCluster: whole.Clusters} {
			for _, a := range list {
				targets = append(targets, evaluate.Target{Kind: kind, Name: a.Namespace + "/" + a.Name})
			}
		}
		if len(targets) == 0 {
			continue
		}
		got := explained(t, open(), targets...)
		if len(got.Objects) < len(targets) {
			t.Errorf("%s: %d explanations for %d targets", name, len(got.Objects), len(targets))
		}
		for _, o := range got.Objects {
			explanations++
			consistent(t, name, o)
			if refused := slices.ContainsFunc(whole.Findings, func(f report.Finding) bool {
				return f.Code == codes.NotProcessed && f.Object == o.Ref
			}); refused && o.State != report.NotReady {
				t.Errorf("%s: %s %s is %s, and the audit says that no controller processes it", name, o.Kind, o.Key(),
					o.State)
			}
			d, ok := states[strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")]
			if o.Kind != "BundleDeployment" || !ok {
				continue
			}
			// ready, and reported as not ready
			wrongly := len(o.Causes) > 0 && o.Causes[0].Root == check.StepStatusWrong
			want := expectedState(d, found.Result)
			if !slices.Contains(want, o.State) && !hasError(whole, o.Ref) && !wrongly {
				t.Errorf("%s: %s is %s, the audit says %s %s (Fleet %s): %s", name, o.Key(), o.State, d.State, d.Reason,
					reportedState(d), o.Answer)
			}
		}
	}
	if explanations < 200 {
		t.Errorf("only %d objects were explained", explanations)
	}
}

// hasError reports whether an audit has an error about an object: then it may be ready, and is not called so.
func hasError(whole *report.Audit, o object.Ref) bool {
	return slices.ContainsFunc(whole.Findings, func(f report.Finding) bool {
		return f.Object == o && f.Severity == report.Error
	})
}

func reportedState(d report.BundleDeployment) string {
	if d.Reported == nil {
		return ""
	}
	return d.Reported.State
}

// expectedState returns the states that agree with the audit of a bundle deployment.
func expectedState(d report.BundleDeployment, r *evaluate.Result) []report.State {
	causes := check.New(facts.New(r, &secret.Quotations{}), cases.Commands, nil).Causes()
	switch d.State {
	case report.Ready:
		for _, x := range r.Deployments {
			if x.Namespace == d.Namespace && x.Name == d.Name && x.BD != nil &&
				(x.BD.DeletionTimestamp != nil ||
					len(causes.Blocked(&x.Deployment)) > 0) {
				return []report.State{report.NotReady}
			}
		}
		return []report.State{report.Ready}
	case report.Unknown:
		return []report.State{report.Ready, report.NotReady, report.Unknown}
	}
	return []report.State{report.NotReady}
}

// consistent checks what holds for every explanation.
func consistent(t *testing.T, name string, o report.WhyObject) {
	t.Helper()
	s := o.Summary
	if s.Deployments != s.Ready+s.NotReady+s.Unknown || s.FromStatus > s.Ready {
		t.Errorf("%s: %s %s: the summary is not consistent: %+v", name, o.Kind, o.Key(), s)
	}
	ready := len(o.Causes) == 0 && s.Ready == s.Deployments && s.FromStatus == 0
	if (o.State == report.Ready) != ready || o.State == report.NotReady && len(o.Causes) == 0 || o.Answer == "" {
		t.Errorf("%s: %s %s is %s with %d causes: %s", name, o.Kind, o.Key(), o.State, len(o.Causes), o.Answer)
	}
	counted := 0
	for _, c := range o.Causes {
		counted += len(c.Deployments)
		if len(c.Steps) == 0 || c.Root != c.Steps[len(c.Steps)-1].Kind || c.Next == "" {
			t.Errorf("%s: %s %s: cause %+v has no root or no next step", name, o.Kind, o.Key(), c)
		}
		if slices.ContainsFunc(c.Steps, func(s report.WhyStep) bool {
			return s.Message == "" || s.Name == "" || !slices.Contains(kinds(), s.Kind)
		}) {
			t.Errorf("%s: %s %s: a step has no message or name, or its kind is not documented: %+v", name, o.Kind,
				o.Key(), c.Steps)
		}
	}
	if counted != s.NotReady+s.Unknown {
		t.Errorf("%s: %s %s: the causes have %d deployments, %d are not ready", name, o.Kind, o.Key(), counted,
			s.NotReady+s.Unknown)
	}
}
