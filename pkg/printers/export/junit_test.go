// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	official "github.com/joshdk/go-junit"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// read writes a report, checks that it is well-formed XML, and reads it with a library.
func read(t *testing.T, a *report.Audit) []official.Suite {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteJUnit(&b, a); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.Bytes())
		}
	}
	suites, err := official.Ingest(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return suites
}

// statuses counts the tests by their status.
func statuses(suites []official.Suite) map[official.Status]int {
	out := map[official.Status]int{}
	for _, s := range suites {
		for _, test := range s.Tests {
			out[test.Status]++
		}
	}
	return out
}

// TestObjects checks that a test passes only if its object is Ready, and that each finding of the sample fails one
// test, except for the one that follows from another: its test is skipped.
func TestObjects(t *testing.T) {
	a := reports.Sample(t, "sick")
	suites := read(t, a)
	if len(suites) != len(a.BundleDeployments)+1 {
		t.Fatalf("%d suites", len(suites))
	}
	for i, bd := range a.BundleDeployments {
		for j, r := range bd.Resources {
			test := suites[i].Tests[j]
			if !strings.HasSuffix(test.Name, r.Name) ||
				(test.Status == official.StatusPassed) != (r.State == report.Ready) {
				t.Errorf("%s is %s: test %s %s", r.Name, r.State, test.Name, test.Status)
			}
		}
	}
	first := a.Findings[0].NextSteps()[0]
	if step := "  -> " + first.Command + "\n     " + first.Text + "\n"; !slices.ContainsFunc(suites[0].Tests,
		func(test official.Test) bool {
			failure, ok := errors.AsType[official.Error](test.Error)
			return ok && strings.Contains(failure.Body, step)
		}) {
		t.Errorf("no test has the command above its effect: %q", step)
	}
	want := map[official.Status]int{official.StatusPassed: a.Summary.Counts.Ready,
		official.StatusFailed: len(a.Findings) - 1, official.StatusSkipped: 1}
	if diff := cmp.Diff(want, statuses(suites)); diff != "" {
		t.Errorf("tests by status (-want +got):\n%s", diff)
	}
	if got := statuses(read(t, reports.Sample(t, "clean"))); got[official.StatusPassed] == 0 || len(got) != 1 {
		t.Errorf("tests of a clean cluster: %v", got)
	}
}

// TestJUnitUnread checks that what could not be read has an error, and that a cluster that is not part of the audit is
// skipped.
func TestJUnitUnread(t *testing.T) {
	want := map[official.Status]int{official.StatusPassed: 1, official.StatusError: 3, official.StatusSkipped: 1}
	if diff := cmp.Diff(want, statuses(read(t, reports.Unread()))); diff != "" {
		t.Errorf("tests by status (-want +got):\n%s", diff)
	}
	a := reports.Unread()
	a.BundleDeployments[1].State = report.WaitApplied // as Fleet reports it
	if diff := cmp.Diff(want, statuses(read(t, a))); diff != "" {
		t.Errorf("with a state of Fleet (-want +got):\n%s", diff)
	}
	a.Gaps, a.BundleDeployments = nil, a.BundleDeployments[2:]
	if got := statuses(read(t, a)); got[official.StatusError] != 1 {
		t.Errorf("without any result: %v", got)
	}
}

// TestStates checks objects without a finding of the severity error or warning, and findings about several clusters.
func TestStates(t *testing.T) {
	ref := object.Ref{APIVersion: "batch/v1", Kind: "Job", Namespace: "web", Name: "migrate"}
	deployment := func(cluster string, r report.Resource) report.BundleDeployment {
		r.Ref = ref
		return report.BundleDeployment{Namespace: "cluster-" + cluster, Name: "web", Cluster: "fleet/" + cluster,
			Bundle: "fleet/web", State: report.Modified, Resources: []report.Resource{r}}
	}
	on := func(severity report.Severity, clusters ...string) report.Finding {
		f := report.Finding{Code: "FD999", Severity: severity, Object: ref, Cluster: clusters[0],
			BundleDeployment: "cluster-a/web", Bundle: "fleet/web"}
		if len(clusters) > 1 {
			f.Clusters = clusters
		}
		return f
	}
	for _, tc := range []struct {
		name     string
		states   []report.State
		findings []report.Finding
		want     map[official.Status]int
	}{
		{"missing with an information", []report.State{report.Missing}, []report.Finding{on(report.Info, "fleet/a")},
			map[official.Status]int{official.StatusSkipped: 1}},
		{"missing without a finding", []report.State{report.Missing}, nil,
			map[official.Status]int{official.StatusSkipped: 1}},
		{"ready with an information", []report.State{report.Ready}, []report.Finding{on(report.Info, "fleet/a")},
			map[official.Status]int{official.StatusPassed: 1}},
		{"ready with a warning", []report.State{report.Ready}, []report.Finding{on(report.Warning, "fleet/a")},
			map[official.Status]int{official.StatusFailed: 1}},
		{"unknown with an error", []report.State{report.Unknown}, []report.Finding{on(report.Error, "fleet/a")},
			map[official.Status]int{official.StatusError: 1}},
		{"two clusters", []report.State{report.Modified, report.Modified},
			[]report.Finding{on(report.Warning, "fleet/a", "fleet/b")},
			map[official.Status]int{official.StatusFailed: 2}},
		{"another cluster", []report.State{report.Ready, report.Ready}, []report.Finding{on(report.Warning, "fleet/b")},
			map[official.Status]int{official.StatusPassed: 1, official.StatusFailed: 1}},
		{"no cluster of the report", []report.State{report.Ready}, []report.Finding{on(report.Warning, "fleet/x")},
			map[official.Status]int{official.StatusPassed: 1, official.StatusFailed: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &report.Audit{Findings: tc.findings}
			for i, state := range tc.states {
				a.BundleDeployments = append(a.BundleDeployments, deployment(string(rune('a'+i)),
					report.Resource{State: state}))
			}
			if got := statuses(read(t, a)); !maps.Equal(got, tc.want) {
				t.Errorf("tests by status: %v, want %v", got, tc.want)
			}
		})
	}
}

// TestJUnitHostile checks that text from a cluster cannot add elements, and acts on no terminal.
func TestJUnitHostile(t *testing.T) {
	a := reports.Hostile(reports.Full(), reports.Evil)
	var b bytes.Buffer
	if err := export.WriteJUnit(&b, a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u009b\u202e\u2066\u2028\x7f\ufffe") {
		t.Error("the document has characters that act on a terminal")
	}
	tests := len(a.Gaps)
	for _, bd := range a.BundleDeployments {
		tests += len(bd.Resources)
	}
	got := 0
	for _, n := range statuses(read(t, a)) {
		got += n
	}
	if got < tests {
		t.Errorf("%d tests, want at least %d", got, tests)
	}
}

// TestLeftOut checks that findings which the report does not list are skipped tests.
func TestLeftOut(t *testing.T) {
	suites := read(t, reports.LeftOut())
	last, notes := suites[len(suites)-2], suites[len(suites)-1]
	if got := statuses([]official.Suite{last}); got[official.StatusSkipped] != 2 || len(got) != 1 {
		t.Errorf("suite %s: %v", last.Name, got)
	}
	if name := last.Tests[1].Name; !strings.Contains(name, "FD104-1") || !strings.Contains(name, "web/read") {
		t.Errorf("the ignored finding is %q", name)
	}
	if file := last.Properties["ignore-file"]; file != "team/ignored.yaml" {
		t.Errorf("the ignore file is %q", file)
	}
	if !strings.Contains(notes.SystemOut, "is a note") || len(notes.Tests) > 0 {
		t.Errorf("the last suite does not have the note: %+v", notes)
	}
}
