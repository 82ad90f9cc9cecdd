// SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// whyCase is the first document of a file in test/testdata/why: a captured management cluster, and what its objects
// wait for.
type whyCase struct {
	Kind        string     `json:"kind"`
	Description string     `json:"description"`
	Source      string     `json:"source"`
	Secrets     []string   `json:"secrets"` // values that must not be in the report
	Questions   []question `json:"questions"`
}

type question struct {
	Target  string            `json:"target"` // KIND/NAME or KIND/NAMESPACE/NAME
	State   report.State      `json:"state"`
	Summary report.WhySummary `json:"summary"`
	Causes  []expectedCause   `json:"causes"` // all of them, in order
	Notes   int               `json:"notes"`  // their number
}

type expectedCause struct {
	State    report.State `json:"state"` // NotReady if it is empty
	Steps    []string     `json:"steps"` // "KIND NAME"
	Clusters []string     `json:"clusters"`
	Limit    []string     `json:"limit"` // the clusters that use up the limit, in the first step
	Findings []string     `json:"findings"`
	Says     string       `json:"says"` // a part of the message or the evidence of the last step
}

// readWhy reads a case, which is opened by the function.
func readWhy(t *testing.T, file string) (whyCase, func() source.Source) {
	t.Helper()
	var head whyCase
	capture, err := cases.Read(file, &head)
	if err != nil || head.Kind != "Why" {
		t.Fatalf("reading %s of kind %q: %v", file, head.Kind, err)
	}
	if err := capture.Complete(nil); err != nil {
		t.Fatal(err)
	}
	return head, func() source.Source {
		s, err := capture.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestCases compares the explanation of each question with the expectation in the file of the case.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(testdata + "/why/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	covered := map[check.StepKind]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		head, open := readWhy(t, file)
		for _, q := range head.Questions {
			kind, target, _ := strings.Cut(q.Target, "/")
			got := explained(t, open(), evaluate.Target{Kind: kind, Name: target})
			if len(got.Objects) != 1 {
				t.Errorf("%s: %s: %d objects", name, q.Target, len(got.Objects))
				continue
			}
			o := got.Objects[0]
			consistent(t, name, o)
			if diff := cmp.Diff(q, shortened(q.Target, o), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(expectedCause{},
				"Says")); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s\n%s", name, q.Target, diff, o.Answer)
			}
			for i := range min(len(q.Causes), len(o.Causes)) {
				last := o.Causes[i].Steps[len(o.Causes[i].Steps)-1]
				if said := last.Message + "\n" +
					strings.Join(last.Evidence, "\n"); !strings.Contains(said, q.Causes[i].Says) {
					t.Errorf("%s: %s: the last step does not say %q: %s", name, q.Target, q.Causes[i].Says, said)
				}
			}
			for _, c := range o.Causes {
				for _, s := range c.Steps {
					covered[s.Kind] = true
				}
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range head.Secrets {
				if strings.Contains(string(text), secret) {
					t.Errorf("%s: %s shows %s", name, q.Target, secret)
				}
			}
		}
	}
	// those of TestOther
	elsewhere := map[check.StepKind]bool{check.StepNotFollowed: true, check.StepBundleValues: true,
		check.StepGitJob: true}
	for _, k := range kinds() {
		if !covered[k] && !elsewhere[k] {
			t.Errorf("no case has a step of kind %s", k)
		}
	}
}

// kinds are the kinds of steps that the documentation explains.
func kinds() []check.StepKind {
	var out []check.StepKind
	for _, t := range cmd.Topics() {
		if t.Kind == report.TopicStep {
			out = append(out, check.StepKind(t.Name))
		}
	}
	return out
}

// shortened is an explanation in the form of an expectation.
func shortened(target string, o report.WhyObject) question {
	out := question{Target: target, State: o.State, Summary: o.Summary, Notes: len(o.Notes)}
	for _, c := range o.Causes {
		var x expectedCause
		if c.State != report.NotReady {
			x.State = c.State
		}
		for _, s := range c.Steps {
			x.Steps = append(x.Steps, string(s.Kind)+" "+s.Name)
		}
		for _, d := range c.Deployments {
			x.Clusters = append(x.Clusters, d.Cluster)
		}
		x.Limit, x.Findings = c.Steps[0].Clusters, c.Findings
		out.Causes = append(out.Causes, x)
	}
	return out
}
