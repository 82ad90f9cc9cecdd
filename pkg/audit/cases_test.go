// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const casesDir = "../../test/testdata/cases"

// caseFile is a case: its description, the options of the audit and the expected report. test/testdata/README.md
// describes the file.
type caseFile struct {
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Source      string `json:"source"`
	// NotCaptured are kinds ("v1/ConfigMap") without a List in the capture. Other objects of these kinds can exist.
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
func (c *caseFile) open(t *testing.T) source.Source {
	t.Helper()
	s, err := c.capture.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expected is the expected report of a case. Objects are written "v1/ConfigMap/namespace/name", findings "FD101
// ConfigMap namespace/name".
type expected struct {
	// Exit is the exit status of audit with default flags. Error is a part of the error message, for status 3.
	Exit  int    `json:"exit"`
	Error string `json:"error"`
	// BundleDeployments are all bundle deployments of the report, by "namespace/name" or by the bundle id.
	BundleDeployments map[string]expectedDeployment `json:"bundleDeployments"`
	// Levels are all aggregates of the report, by "Kind namespace/name". They are only compared if there are any.
	Levels map[string]expectedLevel `json:"levels"`
	// Findings are all findings with a code in completeCodes, and some with other codes. The value is a required part
	// of the finding's text. If two bundles have the same finding, the key includes the deployment: "FD101 ConfigMap
	// a/b @cluster/bundle".
	Findings map[string]string `json:"findings"`
	// Causes are the causes of some findings.
	Causes map[string]facts.Cause `json:"causes"`
	// Never are codes or findings that must not be in the report.
	Never []string `json:"never"`
	// Gaps and Notes have a part of the text of each gap and note of the report.
	Gaps  []string `json:"gaps"`
	Notes []string `json:"notes"`
	// Secrets are values that must not be in the report.
	Secrets []string `json:"secrets"`
}

// expectedLevel are the numbers of an aggregate: "ready/desired" objects and bundle deployments. A number that Fleet
// does not report is empty. If the actual numbers are absent, they are "?", and the totals of the statuses are
// compared.
type expectedLevel struct {
	Objects             string `json:"objects"`
	Deployments         string `json:"deployments"`
	StatusObjects       string `json:"statusObjects"`
	StatusDeployments   string `json:"statusDeployments"`
	ReportedObjects     string `json:"reportedObjects"`
	ReportedDeployments string `json:"reportedDeployments"`
}

type expectedDeployment struct {
	State  report.State  `json:"state"`
	Reason string        `json:"reason"`
	Counts report.Counts `json:"counts"`
	// Resources are all resources that are not Ready, with "State" or "State:Reason".
	Resources map[string]string `json:"resources"`
	// Differences are the paths at which modified resources differ.
	Differences map[string][]string `json:"differences"`
	// Values are the values of each difference: "PATH: bundle 3, release 2, cluster 5".
	Values map[string][]string `json:"values"`
	// Owners are the owners of unowned objects: a bundle deployment, "set ID", "hash HASH" or "release namespace/name".
	Owners map[string]string `json:"owners"`
	// The following fields are only compared if they are set.
	SetID    string `json:"setID"`
	Hash     string `json:"hash"`
	Release  string `json:"release"`
	GitRepo  string `json:"gitRepo"`
	HelmOp   string `json:"helmOp"`
	Cluster  string `json:"cluster"`
	From     string `json:"from"`     // release, bundle or files
	Reported string `json:"reported"` // the state that Fleet reports, with " (old)" if it is marked as old
}

// completeCodes are the codes that a case lists completely. Any other finding with one of these codes is an error.
var completeCodes = []string{
	"FD101", "FD102", "FD103", "FD104", "FD105", "FD106", "FD107", "FD108", "FD109", "FD110", "FD111", "FD201", "FD202",
	"FD203",
	"FD204", "FD205", "FD206", "FD207", "FD208", "FD209", "FD301", "FD302", "FD303", "FD304", "FD305", "FD306", "FD401",
	"FD402",
	"FD403", "FD404", "FD405", "FD406", "FD501", "FD502", "FD503", "FD504", "FD601", "FD602", "FD603", "FD604", "FD605",
	"FD606",
	"FD607", "FD608", "FD609", "FD610", "FD611", "FD612", "FD613", "FD614", "FD701", "FD702", "FD703", "FD704",
}

// TestCases audits each captured cluster in test/testdata/cases and compares the report with the expectation in the
// same file.
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
			c.Expect.check(t, got)
			checkCounts(t, got)
			checkCited(t, got)
			slices.Reverse(c.capture.Documents)
			again, err := c.run(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(asJSON(t, got)), string(asJSON(t, again))); diff != "" {
				t.Errorf("the report depends on the order of the objects (-first +second):\n%s", diff)
			}
		})
	}
}

// TestCasesAreListed checks that the tables in test/testdata/README.md name exactly the case files.
func TestCasesAreListed(t *testing.T) {
	list, err := cases.Section(casesDir+"/../README.md", "Cases of the audit")
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
		if !strings.Contains(list, "`"+name+"`") {
			t.Errorf("README.md does not name the case %s", name)
		}
	}
	for line := range strings.SplitSeq(list, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue // not a row of the table
		}
		for i, name := range strings.Split(cells[2], "`") {
			if i%2 == 1 && !slices.Contains(names, name) {
				t.Errorf("README.md names the case %s, which has no file", name)
			}
		}
	}
}

// run returns the report of the case.
func (c *caseFile) run(t *testing.T) (*report.Audit, error) {
	t.Helper()
	return reportOf(c.audit(t))
}

func (c *caseFile) audit(t *testing.T) (*audit.Audit, error) {
	t.Helper()
	o := audit.Options{Commands: cases.Commands, Scope: evaluate.Scope{Namespace: c.Scope.Namespace}, Parents: true}
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
	return audit.Run(t.Context(), c.open(t), o)
}

// reportOf returns the report of an audit.
func reportOf(a *audit.Audit, err error) (*report.Audit, error) {
	if err != nil {
		return nil, err
	}
	return a.Report(), nil
}

func (e *expected) check(t *testing.T, got *report.Audit) {
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
	if diff := cmp.Diff(e.Levels, levelsOf(got)); e.Levels != nil && diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	e.checkFindings(t, got.Findings)
	var gaps []string
	for _, g := range got.Gaps {
		gaps = append(gaps, g.What+": "+g.Why()+": "+g.Effect)
	}
	checkTexts(t, "gaps", e.Gaps, gaps)
	checkTexts(t, "notes", e.Notes, got.Notes)
	text := string(asJSON(t, got))
	for i, s := range e.Secrets {
		if strings.Contains(text, s) {
			t.Errorf("secret %d is in the report", i)
		}
	}
}

// levelsOf converts the aggregates of a report to the form of an expectation.
func levelsOf(got *report.Audit) map[string]expectedLevel {
	out := map[string]expectedLevel{}
	for kind, all := range map[string][]report.Aggregate{
		"GitRepo":      got.GitRepos,
		"HelmOp":       got.HelmOps,
		"Bundle":       got.Bundles,
		"Cluster":      got.Clusters,
		"ClusterGroup": got.ClusterGroups,
	} {
		for _, a := range all {
			l := expectedLevel{Objects: "?", Deployments: "?"}
			if x := a.Actual; x != nil {
				l.Objects = fmt.Sprintf("%d/%d", x.Counts.Ready, x.Counts.Desired)
				l.Deployments = fmt.Sprintf("%d/%d", x.ReadyBundleDeployments, x.BundleDeployments)
			}
			l.ReportedObjects, l.ReportedDeployments = fractionsOf(a.Reported)
			if a.Actual == nil {
				l.StatusObjects, l.StatusDeployments = fractionsOf(a.Statuses)
			}
			out[kind+" "+a.Namespace+"/"+a.Name] = l
		}
	}
	return out
}

// fractionsOf returns the fractions of ready objects and bundle deployments that are reported.
func fractionsOf(r *report.Reported) (objects, deployments string) {
	if r != nil && r.Ready != nil && r.DesiredReady != nil {
		objects = fmt.Sprintf("%d/%d", *r.Ready, *r.DesiredReady)
	}
	if r != nil && r.ReadyBundleDeployments != nil && r.BundleDeployments != nil {
		deployments = fmt.Sprintf("%d/%d", *r.ReadyBundleDeployments, *r.BundleDeployments)
	}
	return objects, deployments
}

// stateOf converts a bundle deployment to the form of an expectation. It leaves out the optional fields that the
// expectation does not set.
func stateOf(bd report.BundleDeployment, want expectedDeployment) expectedDeployment {
	out := expectedDeployment{State: bd.State, Reason: bd.Reason, Counts: bd.Counts,
		Resources: map[string]string{}, Differences: map[string][]string{}, Owners: map[string]string{}}
	for _, f := range []struct {
		want      string
		got, into *string
	}{
		{want.SetID, &bd.SetID, &out.SetID},
		{want.Hash, &bd.Hash, &out.Hash},
		{want.Release, &bd.Release, &out.Release},
		{want.GitRepo, &bd.GitRepo, &out.GitRepo},
		{want.HelmOp, &bd.HelmOp, &out.HelmOp},
		{want.Cluster, &bd.Cluster, &out.Cluster},
		{want.From, &bd.DesiredFrom, &out.From},
	} {
		if f.want != "" {
			*f.into = *f.got
		}
	}
	if want.Reported != "" && bd.Reported != nil {
		out.Reported = bd.Reported.State
		if bd.Reported.Stale {
			out.Reported += " (old)"
		}
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

// valuesOf formats the values of a difference.
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

func (e *expected) checkFindings(t *testing.T, got []report.Finding) {
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
		case !ok && slices.Contains(completeCodes, f.Code):
			t.Errorf("unexpected finding %s: %s", key, f.Message)
		case ok && !open:
			t.Errorf("finding %s is in the report more than once: %s", key, f.Message)
		case ok && !strings.Contains(texts(f), text):
			t.Errorf("finding %s does not contain %q: %s %q → %s", key, text, f.Message, f.Evidence, f.Remediation)
		}
		if cause, ok := e.Causes[key]; ok && f.Cause != cause {
			t.Errorf("finding %s has the cause %q, want %q: %s", key, f.Cause, cause, f.Message)
		}
		delete(want, key)
		if slices.Contains(e.Never, f.Code) || slices.Contains(e.Never, key) {
			t.Errorf("false finding %s: %s", key, f.Message)
		}
	}
	for key := range want {
		t.Errorf("missing finding %s", key)
	}
}

// texts are the message, the first remedy, the evidence and the other remedies of a finding.
func texts(f report.Finding) string {
	out := append([]string{f.Message, f.Remediation}, f.Evidence...)
	for _, r := range f.Remedies {
		out = append(out, r.Command, r.Text)
	}
	return strings.Join(out, "\n")
}

func (e *expected) has(finding string) bool {
	_, ok := e.Findings[finding]
	return ok
}

func checkTexts(t *testing.T, field string, want, got []string) {
	t.Helper()
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(s string) bool { return strings.Contains(s, w) })
		if i < 0 {
			t.Errorf("%s: no text contains %q: %q", field, w, got)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		t.Errorf("%s: unexpected %q", field, left)
	}
}

// checkCounts checks a rule of every report: the counts add up, each object is listed once, and the counts agree with
// the list.
func checkCounts(t *testing.T, got *report.Audit) {
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
		counted := map[report.State]int{
			report.Ready:    c.Ready,
			report.Missing:  c.Missing,
			report.Unowned:  c.Unowned,
			report.Modified: c.Modified,
			report.NotReady: c.NotReady,
			report.Unknown:  c.Unknown,
			report.Orphaned: c.Orphaned,
		}
		for state, n := range counted {
			if states[state] != n {
				t.Errorf("%s: %d objects are listed as %s, %d are counted", bd.Name, states[state], state, n)
			}
		}
	}
	if diff := cmp.Diff(all, got.Summary.Counts); diff != "" {
		t.Errorf("the summary is not the total (-want +got):\n%s", diff)
	}
}

// citedCode is the code of another finding in the words of a finding.
var citedCode = regexp.MustCompile(`\((FD\d{3})\)`)

// checkCited checks a rule of every report: if a wrong total is explained by another finding, the report has that
// finding.
func checkCited(t *testing.T, got *report.Audit) {
	t.Helper()
	has := map[string]bool{}
	for _, f := range got.Findings {
		has[f.Code] = true
	}
	for _, f := range got.Findings {
		for _, cited := range citedCode.FindAllStringSubmatch(f.Message, -1) {
			if !has[cited[1]] {
				t.Errorf("%s cites %s, which is not in the report: %s", findingKey(f), cited[1], f.Message)
			}
		}
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
