// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const casesDir = "../../test/testdata/cases"

// caseFile is a case: what it is about, how it is audited, and what is to come out. README.md beside the cases describes the file.
type caseFile struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Source      string `json:"source"`
	// NotCaptured are kinds ("v1/ConfigMap") of which the capture has only the documents in the file, and no List that would prove the rest absent.
	NotCaptured []string      `json:"notCaptured"`
	Scope       caseScope     `json:"scope"`
	Desired     cases.Desired `json:"desired"`
	Expect      expected      `json:"expect"`

	capture *cases.Capture
}

type caseScope struct {
	Namespace string   `json:"namespace"`
	Selector  string   `json:"selector"`
	Targets   []string `json:"targets"`
}

func readCase(t *testing.T, path string) *caseFile {
	t.Helper()
	c := &caseFile{}
	capture, err := cases.Read(path, c)
	if err != nil || c.Kind != "Case" {
		t.Fatalf("reading case %s of kind %q: %v", path, c.Kind, err)
	}
	if err := capture.Complete(c.NotCaptured); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	c.capture = capture
	return c
}

// open opens the case as a snapshot.
func (c *caseFile) open(t *testing.T) *snapshot.Snapshot {
	t.Helper()
	in, err := c.capture.Stream()
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expected is what is to come out of a case. Objects are written "v1/ConfigMap/namespace/name", findings "FD101 ConfigMap namespace/name".
type expected struct {
	// Exit is the status that audit ends with by default; Error, for status 3, a part of the error.
	Exit  int    `json:"exit"`
	Error string `json:"error"`
	// BundleDeployments are all of the report, by "namespace/name", or by the bundle id alone.
	BundleDeployments map[string]expectedDeployment `json:"bundleDeployments"`
	// Findings are all findings of the codes in decided, and those of other codes that matter, each with a text that it must hold ("" for
	// none). Where two bundles have the same finding, the deployment tells them apart: "FD101 ConfigMap a/b @cluster/bundle".
	Findings map[string]string `json:"findings"`
	// Never are codes, or whole findings, that must not be there: what the case is about.
	Never []string `json:"never"`
	// Gaps and Notes are all there are, each by a part of its text.
	Gaps  []string `json:"gaps"`
	Notes []string `json:"notes"`
	// Secrets are values that must not be in the report.
	Secrets []string `json:"secrets"`
}

type expectedDeployment struct {
	State  report.State  `json:"state"`
	Reason string        `json:"reason"`
	Counts report.Counts `json:"counts"`
	// Resources are all that are not Ready: "Unowned:HelmOnly".
	Resources map[string]string `json:"resources"`
	// Differences are the paths at which the modified ones differ.
	Differences map[string][]string `json:"differences"`
	// Values are both sides of differences, and what the release record says: "PATH: bundle 3, release 2, cluster 5".
	Values map[string][]string `json:"values"`
	// Owners say who holds an unowned object: a bundle deployment, "set ID", "hash HASH" or "release namespace/name".
	Owners map[string]string `json:"owners"`
	// What follows is only compared where it is stated.
	SetID    string `json:"setID"`
	Hash     string `json:"hash"`
	Release  string `json:"release"`
	GitRepo  string `json:"gitRepo"`
	HelmOp   string `json:"helmOp"`
	Cluster  string `json:"cluster"`
	From     string `json:"from"`     // release, bundle or files
	Reported string `json:"reported"` // the state that Fleet reports
}

// decided are the codes of the checks that the cases are complete for: none of them may turn up unasked.
var decided = []string{"FD101", "FD102", "FD103", "FD104", "FD105", "FD106", "FD107", "FD108", "FD109", "FD111", "FD205", "FD206", "FD207", "FD208", "FD504",
	"FD602", "FD606", "FD607", "FD701"}

// TestCases audits each captured cluster in test/testdata/cases and holds the report against what its file says is true.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			got, err := c.run(t)
			if err != nil || c.Expect.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Expect.Error) || c.Expect.Exit != 3 {
					t.Fatalf("error %v, want exit status %d and %q", err, c.Expect.Exit, c.Expect.Error)
				}
				return
			}
			c.Expect.hold(t, got)
			sound(t, got)
			slices.Reverse(c.capture.Documents)
			again, err := c.run(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(asJSON(t, got)), string(asJSON(t, again))); diff != "" {
				t.Errorf("the same objects in another order give another report (-first +second):\n%s", diff)
			}
		})
	}
}

// TestCasesAreListed holds the table in README.md against the files: what is covered nowhere must be seen there.
func TestCasesAreListed(t *testing.T) {
	raw, err := os.ReadFile(casesDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(casesDir + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		names = append(names, name)
		if !strings.Contains(string(raw), "`"+name+"`") {
			t.Errorf("README.md does not name the case %s", name)
		}
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue // no row of a table of two columns
		}
		for i, name := range strings.Split(cells[2], "`") {
			if i%2 == 1 && !slices.Contains(names, name) {
				t.Errorf("README.md names the case %s, of which there is no file", name)
			}
		}
	}
}

func (c *caseFile) run(t *testing.T) (*report.Audit, error) {
	t.Helper()
	o := audit.Options{Commands: cases.Commands, Scope: evaluate.Scope{Namespace: c.Scope.Namespace}}
	if c.Scope.Selector != "" {
		selector, err := labels.Parse(c.Scope.Selector)
		if err != nil {
			t.Fatal(err)
		}
		o.Scope.Selector = selector
	}
	for _, target := range c.Scope.Targets {
		kind, name, _ := strings.Cut(target, "/")
		o.Scope.Targets = append(o.Scope.Targets, evaluate.Target{Kind: kind, Name: name})
	}
	c.Desired.Write(t, &o)
	return reportOf(audit.Run(t.Context(), c.open(t), o))
}

// reportOf is the report of an audit.
func reportOf(a *audit.Audit, err error) (*report.Audit, error) {
	if err != nil {
		return nil, err
	}
	return a.Report(), nil
}

func (e *expected) hold(t *testing.T, got *report.Audit) {
	t.Helper()
	if f := got.Summary.Findings; (f.Error+f.Warning > 0) != (e.Exit == 1) {
		t.Errorf("%d errors and %d warnings, want exit status %d", f.Error, f.Warning, e.Exit)
	}
	seen := map[string]expectedDeployment{}
	for _, bd := range got.BundleDeployments {
		key := strings.TrimPrefix(bd.Namespace+"/"+bd.Name, "/")
		if _, ok := seen[key]; ok {
			t.Errorf("%s is in the report twice", key)
		}
		seen[key] = stateOf(bd, e.BundleDeployments[key])
	}
	if diff := cmp.Diff(e.BundleDeployments, seen, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("bundle deployments (-want +got):\n%s", diff)
	}
	e.holdFindings(t, got.Findings)
	var gaps []string
	for _, g := range got.Gaps {
		gaps = append(gaps, g.What+": "+g.Why()+": "+g.Effect)
	}
	holdTexts(t, "gaps", e.Gaps, gaps)
	holdTexts(t, "notes", e.Notes, got.Notes)
	text := string(asJSON(t, got))
	for i, s := range e.Secrets {
		if strings.Contains(text, s) {
			t.Errorf("secret %d is in the report", i)
		}
	}
}

// stateOf writes what came out in the form of an expectation. Of what the expectation does not state, nothing is taken.
func stateOf(bd report.BundleDeployment, want expectedDeployment) expectedDeployment {
	out := expectedDeployment{State: bd.State, Reason: bd.Reason, Counts: bd.Counts,
		Resources: map[string]string{}, Differences: map[string][]string{}, Owners: map[string]string{}}
	for _, f := range []struct {
		want      string
		got, into *string
	}{
		{want.SetID, &bd.SetID, &out.SetID}, {want.Hash, &bd.Hash, &out.Hash}, {want.Release, &bd.Release, &out.Release},
		{want.GitRepo, &bd.GitRepo, &out.GitRepo}, {want.HelmOp, &bd.HelmOp, &out.HelmOp}, {want.Cluster, &bd.Cluster, &out.Cluster}, {want.From, &bd.DesiredFrom, &out.From},
	} {
		if f.want != "" {
			*f.into = *f.got
		}
	}
	if want.Reported != "" && bd.Reported != nil {
		out.Reported = bd.Reported.State
	}
	for _, r := range bd.Resources {
		key := resourceKey(r.Ref)
		if r.State != report.Ready {
			out.Resources[key] = strings.TrimSuffix(string(r.State)+":"+r.Reason, ":")
		}
		for _, d := range r.Differences {
			out.Differences[key] = append(out.Differences[key], d.Path)
			if want.Values[key] != nil {
				if out.Values == nil {
					out.Values = map[string][]string{}
				}
				out.Values[key] = append(out.Values[key], valuesOf(d))
			}
		}
		if r.Owner != nil {
			out.Owners[key] = ownerName(r.Owner)
		}
	}
	return out
}

// valuesOf writes what each side says of a difference.
func valuesOf(d report.Difference) string {
	out := d.Path + ":"
	for _, side := range []struct {
		name  string
		value report.Value
	}{{"bundle", d.Desired}, {"release", d.Release}, {"cluster", d.Live}} {
		if !side.value.IsZero() {
			out += fmt.Sprintf(" %s %v,", side.name, side.value.Shown())
		}
	}
	return strings.TrimSuffix(out, ",")
}

func ownerName(o *report.Owner) string {
	switch {
	case o.BundleDeployment != "":
		return o.BundleDeployment
	case o.SetID != "":
		return "set " + o.SetID
	case o.Hash != "":
		return "hash " + o.Hash
	}
	return "release " + o.Release
}

func resourceKey(r object.Ref) string {
	return r.APIVersion + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}

func findingKey(f report.Finding) string {
	name := f.Object.Name
	if f.Object.Namespace != "" {
		name = f.Object.Namespace + "/" + name
	}
	return f.Code + " " + f.Object.Kind + " " + name
}

func (e *expected) holdFindings(t *testing.T, got []report.Finding) {
	t.Helper()
	want := map[string]string{}
	for k, v := range e.Findings {
		want[k] = v
	}
	for _, f := range got {
		key := findingKey(f)
		if of := key + " @" + f.BundleDeployment; e.has(of) {
			key = of
		}
		text, ok := e.Findings[key]
		_, open := want[key]
		switch {
		case !ok && slices.Contains(decided, f.Code):
			t.Errorf("unexpected finding %s: %s", key, f.Message)
		case ok && !open:
			t.Errorf("finding %s is there more than once: %s", key, f.Message)
		case ok && !strings.Contains(strings.Join(append([]string{f.Message, f.Remediation}, f.Evidence...), "\n"), text):
			t.Errorf("finding %s does not say %q: %s %q → %s", key, text, f.Message, f.Evidence, f.Remediation)
		}
		delete(want, key)
		if slices.Contains(e.Never, f.Code) || slices.Contains(e.Never, key) {
			t.Errorf("false finding %s: %s", key, f.Message)
		}
	}
	for key := range want {
		t.Errorf("no finding %s", key)
	}
}

func (e *expected) has(finding string) bool {
	_, ok := e.Findings[finding]
	return ok
}

func holdTexts(t *testing.T, what string, want, got []string) {
	t.Helper()
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(s string) bool { return strings.Contains(s, w) })
		if i < 0 {
			t.Errorf("%s: nothing says %q: %q", what, w, got)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		t.Errorf("%s: unexpected %q", what, left)
	}
}

// sound holds what is true of every report: counts add up, each object is listed once, and what is listed is what is counted.
func sound(t *testing.T, got *report.Audit) {
	t.Helper()
	var all report.Counts
	for _, bd := range got.BundleDeployments {
		c := bd.Counts
		all = all.Plus(c)
		if c.Desired != c.Ready+c.Missing+c.Unowned+c.Modified+c.NotReady+c.Unknown {
			t.Errorf("%s: the counts do not add up: %+v", bd.Name, c)
		}
		listed := map[string]int{}
		states := map[report.State]int{}
		for _, r := range bd.Resources {
			listed[resourceKey(r.Ref)]++
			states[r.State]++
		}
		for key, n := range listed {
			if n > 1 {
				t.Errorf("%s: %s is listed %d times", bd.Name, key, n)
			}
		}
		counted := map[report.State]int{report.Ready: c.Ready, report.Missing: c.Missing, report.Unowned: c.Unowned, report.Modified: c.Modified,
			report.NotReady: c.NotReady, report.Unknown: c.Unknown, report.Orphaned: c.Orphaned}
		for state, n := range counted {
			if states[state] != n {
				t.Errorf("%s: %d objects are listed as %s, %d are counted", bd.Name, states[state], state, n)
			}
		}
	}
	if diff := cmp.Diff(all, got.Summary.Counts); diff != "" {
		t.Errorf("the summary is not the sum (-want +got):\n%s", diff)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(fmt.Errorf("encoding the report: %w", err))
	}
	return b.Bytes()
}
