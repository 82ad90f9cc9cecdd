// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	official "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// sarifRead writes a report, reads it with a library, and validates it against the official schema.
func sarifRead(t *testing.T, a *report.Audit) *official.Run {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteSARIF(&b, a); err != nil {
		t.Fatal(err)
	}
	log, err := official.FromBytes(b.Bytes(), official.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Validate(); err != nil {
		t.Fatal(err)
	}
	validate(t, b.Bytes())
	if len(log.Runs) != 1 || len(log.Runs[0].Invocations) != 1 {
		t.Fatalf("not one run with one invocation: %s", b.Bytes())
	}
	return log.Runs[0]
}

// TestResults checks that each finding is a result of its rule, with the properties that GitHub requires, and a
// fingerprint of its own.
func TestResults(t *testing.T) {
	a := reports.Sample(t, "sick")
	run := sarifRead(t, a)
	if len(run.Results) != len(a.Findings) || len(run.Tool.Driver.Rules) != len(check.Catalogue()) {
		t.Fatalf("%d results of %d rules", len(run.Results), len(run.Tool.Driver.Rules))
	}
	levels := map[report.Severity]string{report.Error: "error", report.Warning: "warning", report.Info: "note"}
	hashes := map[string]bool{}
	for i, r := range run.Results {
		f := a.Findings[i]
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		level := levels[f.Severity]
		if f.CausedBy != nil {
			level = "note"
		}
		if *r.RuleID != f.Code || *rule.ID != f.Code || r.Level != level ||
			!strings.Contains(*r.Message.Text, f.Object.Name) {
			t.Errorf("result %d is %s of rule %s: %s", i, *r.RuleID, *rule.ID, *r.Message.Text)
		}
		at := r.Locations[0].PhysicalLocation
		if u, err := url.Parse(*at.ArtifactLocation.URI); err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/") ||
			*at.Region.StartLine != 1 {
			t.Errorf("result %d has the location %q: %v", i, *at.ArtifactLocation.URI, err)
		}
		hashes[r.PartialFingerprints["primaryLocationLineHash"]] = true
	}
	if len(hashes) != len(a.Findings) {
		t.Errorf("%d fingerprints of %d findings", len(hashes), len(a.Findings))
	}
	for _, rule := range run.Tool.Driver.Rules {
		if *rule.ShortDescription.Text == "" || *rule.FullDescription.Text == "" || *rule.Help.Text == "" ||
			!strings.Contains(*rule.HelpURI, strings.ToLower(*rule.ID)) {
			t.Errorf("rule %s is not complete", *rule.ID)
		}
	}
	if i := run.Invocations[0]; !*i.ExecutionSuccessful || len(i.ToolExecutionNotifications) != 0 {
		t.Error("a complete audit is not successful")
	}
}

// TestFollowing checks that a finding that follows from another one is a note with the place and the fingerprint of its
// cause, and that it keeps its own level if the report does not have the cause, or if the cause is less
// severe.
func TestFollowing(t *testing.T) {
	a := reports.Fleet(3, 3, 3)
	i := slices.IndexFunc(a.Findings, func(f report.Finding) bool { return f.Code == "FD205" })
	byID := map[string]*official.Result{}
	results := sarifRead(t, a).Results
	for _, r := range results {
		byID[r.PartialFingerprints["primaryLocationLineHash"]] = r
	}
	r := results[i]
	id, _ := r.Properties.Properties["causedBy"].(string)
	cause := byID[id]
	if cause == nil || len(r.RelatedLocations) != 1 {
		t.Fatalf("caused by %q, at %d places", id, len(r.RelatedLocations))
	}
	at := *r.RelatedLocations[0].PhysicalLocation.ArtifactLocation.URI
	if r.Level != "note" || cause.Level == "note" || at != *cause.Locations[0].PhysicalLocation.ArtifactLocation.URI {
		t.Errorf("the result is a %s with the cause %q (%s) at %s", r.Level, *cause.RuleID, cause.Level, at)
	}
	if text := *r.Message.Text; !strings.Contains(text, "follows from "+*cause.RuleID) {
		t.Errorf("the message does not name the cause: %s", text)
	}
	for j := range a.Findings {
		if a.Findings[j].ID == a.Findings[i].CausedBy.ID {
			a.Findings[j].Severity = report.Info
		}
	}
	if r := sarifRead(t, a).Results[i]; r.Level != "warning" || len(r.RelatedLocations) != 1 {
		t.Errorf("with a cause for information, the result is a %s", r.Level)
	}
	a.Findings = a.Findings[i : i+1]
	if r := sarifRead(t, a).Results[0]; r.Level != "warning" || len(r.RelatedLocations) != 0 {
		t.Errorf("without the cause in the report, the result is a %s", r.Level)
	}
}

// TestSARIFUnread checks that an audit that could not sarifRead everything is not successful, and names what it could
// not sarifRead.
func TestSARIFUnread(t *testing.T) {
	run := sarifRead(t, reports.Unread())
	got := map[string]int{}
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		got[n.Level]++
	}
	if *run.Invocations[0].ExecutionSuccessful || got["error"] != 3 || got["warning"] != 1 {
		t.Errorf("successful %v, notifications %v", *run.Invocations[0].ExecutionSuccessful, got)
	}
	for name, change := range map[string]func(*report.Audit){
		"a gap":             func(a *report.Audit) { a.BundleDeployments = nil },
		"an Unknown object": func(a *report.Audit) { a.Gaps, a.BundleDeployments = nil, a.BundleDeployments[:1] },
		"a state of Fleet without a result": func(a *report.Audit) {
			a.Gaps, a.BundleDeployments[0].State, a.BundleDeployments[0].Counts.Unknown = nil, report.Ready, 0
			a.BundleDeployments[1].State = report.WaitApplied
		},
		"nothing has a result": func(a *report.Audit) { a.Gaps, a.BundleDeployments = nil, a.BundleDeployments[2:] },
	} {
		a := reports.Unread()
		change(a)
		if *sarifRead(t, a).Invocations[0].ExecutionSuccessful {
			t.Errorf("%s is successful", name)
		}
	}
}

// TestNextStep checks that a message has the command of a remedy before its effect, and no braces of a command.
func TestNextStep(t *testing.T) {
	for want, step := range map[string]report.Remedy{
		"Next step: kubectl get pods\nlists the Pods": {Command: "kubectl get pods",
			Text: "lists the Pods"},
		"Next step: the command in the properties patches the Bundle": {Command: "kubectl patch -p '{}'",
			Text: "patches the Bundle"},
		"Next step: restore it": {Text: "restore it"},
	} {
		a := reports.Full()
		a.Findings = a.Findings[:1]
		f := &a.Findings[0]
		f.Message, f.Evidence, f.Remedies = "gone", nil, []report.Remedy{step}
		if got := *sarifRead(t, a).Results[0].Message.Text; !strings.HasSuffix(got, want) {
			t.Errorf("%+v: %q", step, got)
		}
	}
}

// TestSARIFHostile checks that text from a cluster is neither a link nor a placeholder, and acts on no terminal.
func TestSARIFHostile(t *testing.T) {
	a := reports.Hostile(reports.Full(), reports.Evil)
	for _, r := range sarifRead(t, a).Results {
		if text := *r.Message.Text; strings.Contains(text, "](") || !strings.Contains(text, "{{0}}") {
			t.Errorf("the message is not escaped: %q", text)
		}
	}
	var b bytes.Buffer
	if err := export.WriteSARIF(&b, a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u009b\u202e\u2066\u2028\x7f") {
		t.Error("the document has characters that act on a terminal")
	}
}

// TestSARIFLeftOut checks that an ignored finding is a suppressed result, that all results then have a list of
// suppressions, and that the others are counted.
func TestSARIFLeftOut(t *testing.T) {
	a := reports.LeftOut()
	a.Findings = []report.Finding{{ID: "FD101-1", Code: "FD101", Severity: report.Error, Message: "it is missing"}}
	run := sarifRead(t, a)
	if len(run.Results) != 2 || len(run.Results[0].Suppressions) != 0 || len(run.Results[1].Suppressions) != 1 {
		t.Fatalf("results %+v", run.Results)
	}
	x := run.Results[1]
	if s := x.Suppressions[0]; *x.RuleID != "FD104" || x.PartialFingerprints["primaryLocationLineHash"] != "FD104-1" ||
		*s.Kind != "external" || !strings.Contains(*s.Justification, "by hand") {
		t.Errorf("the ignored finding is %+v, suppressed by %+v", x, s)
	}
	if uri := *x.Locations[0].PhysicalLocation.ArtifactLocation.URI; !strings.Contains(uri, "bundles/fleet-local/web") {
		t.Errorf("the ignored finding is at %s", uri)
	}
	var notes []string
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		if n.Level == "note" {
			notes = append(notes, *n.Message.Text)
		}
	}
	for i, want := range []string{"--severity", "team/ignored.yaml", "is a note"} {
		if len(notes) != 3 || !strings.Contains(notes[i], want) {
			t.Errorf("notes %q, want three, number %d about %q", notes, i, want)
		}
	}
	var b bytes.Buffer
	if err := export.WriteSARIF(&b, a); err != nil || strings.Count(b.String(), `"suppressions":`) != 2 {
		t.Errorf("not every result has a list of suppressions (%v): %s", err, b.String())
	}
}

// TestMessages checks that findings with different messages about the object of a bundle on two clusters do not take
// the fingerprints of each other.
func TestMessages(t *testing.T) {
	fingerprints := func(joined bool, clusters ...string) map[string]string {
		a := reports.Full()
		a.Source.Clusters = []report.ClusterSource{{Name: "one"}}
		f := a.Findings[0]
		a.Findings = nil
		for _, c := range clusters {
			f.Cluster, f.Clusters, f.ID, f.BundleDeployment, f.Message = c, nil, "FD104-"+c, c+"/web", "differs on "+c
			if joined {
				f.Clusters = []string{c, c + "-2"}
			}
			a.Findings = append(a.Findings, f)
		}
		out := map[string]string{}
		for i, r := range sarifRead(t, a).Results[:len(clusters)] {
			out[clusters[i]] = r.PartialFingerprints["primaryLocationLineHash"]
		}
		return out
	}
	if both, one := fingerprints(false, "a", "b"), fingerprints(false, "b"); both["b"] != one["b"] ||
		both["a"] == both["b"] {
		t.Errorf("on two clusters %v, on one %v", both, one)
	}
	if both := fingerprints(true, "a", "b"); both["a"] == both["b"] || strings.HasSuffix(both["b"], "-2") {
		t.Errorf("joined: %v", both)
	}
}

// TestSARIFClusters checks that a result on several clusters stays the same result when its first cluster is repaired.
func TestSARIFClusters(t *testing.T) {
	fingerprints := func(clusters ...string) map[string]string {
		a := reports.Full()
		a.Source.Clusters = []report.ClusterSource{{Name: "one"}}
		f := &a.Findings[0]
		f.Cluster, f.Clusters, f.IDs, f.ID, f.BundleDeployment = clusters[0], clusters, clusters, clusters[0],
			clusters[0]+"/web"
		a.Findings = a.Findings[:1]
		return sarifRead(t, a).Results[0].PartialFingerprints
	}
	if diff := cmp.Diff(fingerprints("a/one", "a/two", "a/three"), fingerprints("a/two", "a/three")); diff != "" {
		t.Errorf("(-three clusters +two):\n%s", diff)
	}
}
