// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/digest"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

func TestVerdict(t *testing.T) {
	ready := report.BundleDeployment{State: report.Ready, Counts: report.Counts{Desired: 2, Ready: 2}}
	unread := report.BundleDeployment{State: report.Unknown, Reason: "ClusterNotRead"}
	waiting := report.BundleDeployment{State: report.WaitApplied, Counts: ready.Counts}
	audit := func(change func(*report.Audit), list ...report.BundleDeployment) *report.Audit {
		a := &report.Audit{BundleDeployments: list}
		for _, bd := range list {
			a.Summary.Counts = a.Summary.Counts.Plus(bd.Counts)
		}
		change(a)
		return a
	}
	same := func(*report.Audit) {}
	for name, tc := range map[string]struct {
		audit *report.Audit
		want  digest.Level
	}{
		"ready":      {audit(same, ready), digest.Good},
		"nothing":    {audit(same), digest.Unknown},
		"no result":  {audit(same, unread), digest.Unknown},
		"one of two": {audit(same, ready, unread), digest.Unknown},
		"waiting":    {audit(same, ready, waiting), digest.Unknown},
		"a gap": {audit(func(a *report.Audit) {
			a.Gaps = []report.Gap{{What: "x"}}
		}, ready), digest.Unknown},
		"unknown object":   {audit(func(a *report.Audit) { a.Summary.Counts.Unknown = 1 }, ready), digest.Unknown},
		"a warning":        {audit(func(a *report.Audit) { a.Summary.Findings.Warning = 1 }, ready), digest.Bad},
		"an error, unread": {audit(func(a *report.Audit) { a.Summary.Findings.Error = 1 }, unread), digest.Bad},
		"hidden findings": {audit(func(a *report.Audit) {
			a.Filter = &report.Filter{Hidden: report.FindingCounts{Warning: 1}}
		}, ready), digest.Unknown},
		"ignored findings": {audit(func(a *report.Audit) { a.Summary.Ignored = 1 }, ready), digest.Unknown},
		"known, unread":    {audit(func(a *report.Audit) { a.Summary.Ignored = 1 }, ready, unread), digest.Unknown},
		"for information":  {audit(func(a *report.Audit) { a.Summary.Findings.Info = 1 }, ready), digest.Good},
	} {
		if got, text := digest.Verdict(tc.audit); got != tc.want || text == "" {
			t.Errorf("%s: %s %q, want %s", name, got, text, tc.want)
		}
	}
}

// TestLeftOut checks that the totals count the findings that the report leaves out.
func TestLeftOut(t *testing.T) {
	a := &report.Audit{Filter: &report.Filter{Severity: report.Error, Codes: []string{"FD101"},
		Hidden: report.FindingCounts{Warning: 2, Info: 3}},
		Summary: report.Summary{Ignored: 6}}
	for _, want := range []string{"5 findings hidden by --severity=error --code=FD101", "6 findings ignored"} {
		if got := digest.Totals(a); !strings.Contains(got, want) {
			t.Errorf("the totals have no %q: %s", want, got)
		}
	}
}

func TestAggregates(t *testing.T) {
	n := func(i int) *int { return &i }
	ready := report.Counts{Desired: 2, Ready: 2}
	bad := report.Counts{Desired: 2, Ready: 1, Missing: 1}
	reported := func(ready, desired int) *report.Reported {
		return &report.Reported{Ready: n(ready), DesiredReady: n(desired)}
	}
	actual := func(all, well int, c report.Counts) *report.Actual {
		return &report.Actual{BundleDeployments: all, ReadyBundleDeployments: well, Counts: c}
	}
	a := &report.Audit{
		Clusters: []report.Aggregate{
			{Namespace: "n", Name: "good", Actual: actual(1, 1, ready), Reported: reported(2, 2)},
			{Namespace: "n", Name: "wrong", Actual: actual(1, 1, ready), Reported: reported(1, 2)},
			{Namespace: "n", Name: "partial", Actual: actual(2, 1, ready), Reported: reported(9, 9)},
			{Namespace: "n", Name: "unread", Actual: actual(1, 0, report.Counts{}), Reported: reported(5, 5)},
			{Namespace: "n", Name: "bad", Actual: actual(1, 0, bad), Reported: reported(2, 2)},
			{Namespace: "n", Name: "empty", Actual: actual(0, 0, report.Counts{})},
		},
		ClusterGroups: []report.Aggregate{{Namespace: "n", Name: "group", Actual: actual(4, 2, bad),
			Reported: reported(9, 9)}},
		BundleDeployments: []report.BundleDeployment{
			{Cluster: "n/partial", GitRepo: "n/not-listed", State: report.Ready, Counts: ready},
			{Cluster: "n/partial", State: report.Unknown}, {Cluster: "n/unread", State: report.Unknown},
			{Cluster: "n/bad", State: report.Modified, Counts: bad}, {Cluster: "n/good", State: report.Ready,
				Counts: ready}, {Cluster: "n/wrong", State: report.Ready, Counts: ready},
		}}
	type row struct {
		Name    string
		Level   digest.Level
		Unread  int
		Differs bool
	}
	var got []row
	for _, x := range digest.Aggregates(a) {
		got = append(got, row{x.Kind + " " + x.Name, x.Level, x.Unread, x.Differs})
	}
	want := []row{{"GitRepo n/not-listed", digest.Unknown, 0, false}, {"Cluster n/bad", digest.Bad, 0, true},
		{"Cluster n/wrong", digest.Good, 0, true},
		{"Cluster n/partial", digest.Unknown, 1, false}, {"Cluster n/unread", digest.Unknown, 1, false},
		{"Cluster n/good", digest.Good, 0, false},
		{"Cluster n/empty", digest.Good, 0, false}, {"ClusterGroup n/group", digest.Bad, 0, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
}

// of returns the fields of a finding about an object with one difference.
func of(d report.Difference) []digest.Field {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "b"}
	a := &report.Audit{BundleDeployments: []report.BundleDeployment{{Namespace: "n", Name: "bd", Cluster: "n/c",
		Resources: []report.Resource{{Ref: ref, Differences: []report.Difference{d}}}}}}
	return digest.NewDifferences(a).Of(&report.Finding{Code: "FD104", Object: ref, Cluster: "n/c",
		BundleDeployment: "n/bd"})
}

func TestDifferences(t *testing.T) {
	long := strings.Repeat("line\n", 60)
	for name, tc := range map[string]struct {
		desired, live report.Value
		want          []digest.Line
	}{
		"number":  {evaluate.Plain(int64(1)), evaluate.Plain(int64(3)), []digest.Line{{"-", "1"}, {"+", "3"}}},
		"type":    {evaluate.Plain(int64(1)), evaluate.Plain("1"), []digest.Line{{"-", "1"}, {"+", `"1"`}}},
		"added":   {report.Value{}, evaluate.Plain("x"), []digest.Line{{"+", "x"}}},
		"removed": {evaluate.Plain(""), report.Value{}, []digest.Line{{"-", `""`}}},
		"masked": {evaluate.Masked("***1"), evaluate.Masked("***2"),
			[]digest.Line{{"-", "***1"}, {"+", "***2"}}},
		"line end": {evaluate.Plain("a\n"), evaluate.Plain("a"), []digest.Line{{" ", "a"}, {"-", ""}}},
		"list": {evaluate.Plain([]any{"a", "b"}), evaluate.Plain([]any{"a"}),
			[]digest.Line{{" ", "- a"}, {"-", "- b"}}},
		"markup": {evaluate.Plain(map[string]any{"a": "<b>&"}), evaluate.Plain(map[string]any{}),
			[]digest.Line{{"-", "a: <b>&"}, {"+", "{}"}}},
		"one of sixty": {evaluate.Plain(long + "old\n" + long), evaluate.Plain(long + "new\n" + long),
			[]digest.Line{{"@", "line 58"}, {" ", "line"}, {" ", "line"}, {" ", "line"}, {"-", "old"}, {"+", "new"},
				{" ", "line"}, {" ", "line"}, {" ", "line"}}},
		"carriage return": {evaluate.Plain("a\r\nb"), evaluate.Plain("a\nb"), []digest.Line{{"-", "a\r"}, {"+", "a"},
			{" ", "b"}}},
	} {
		if diff := cmp.Diff([]digest.Field{{Path: ".x", About: "last written by m", Lines: tc.want}},
			of(report.Difference{Path: ".x", Manager: "m", Desired: tc.desired, Live: tc.live})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLargeValue checks that a value of a MiB is cut, and that the document says so.
func TestLargeValue(t *testing.T) {
	size := 0
	fields := of(report.Difference{Path: ".x", Desired: evaluate.Plain(strings.Repeat("größe\n", 200_000)),
		Live: evaluate.Plain(strings.Repeat("size", 300_000))})
	for _, l := range fields[0].Lines {
		size += len(l.Text)
	}
	last := fields[0].Lines[len(fields[0].Lines)-1].Text
	if size > 80<<10 || !strings.Contains(last, "-o json") {
		t.Errorf("%d bytes, the last line is %.80q", size, last)
	}
}

// TestSecrets checks that no format prints the value of a Secret, even if a report was not redacted.
func TestSecrets(t *testing.T) {
	a := reports.Full()
	for i := range a.BundleDeployments[0].Resources {
		for j := range a.BundleDeployments[0].Resources[i].Differences {
			d := &a.BundleDeployments[0].Resources[i].Differences[j]
			d.Desired, d.Live, d.Release = evaluate.Secret("hunter-2"),
				evaluate.Secret(map[string]any{"password": "hunter-3"}), evaluate.Secret([]any{"hunter-4"})
		}
	}
	for name, write := range map[string]func(io.Writer, *report.Audit) error{"html": export.WriteHTML,
		"markdown": export.WriteMarkdown} {
		var b bytes.Buffer
		if err := write(&b, a); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "hunter-") {
			t.Errorf("-o %s prints the value of a Secret", name)
		}
	}
}

// TestReportedTogether: what Fleet reports of clusters that are not read is one problem of several bundles; what was
// read there is one of each bundle.
func TestReportedTogether(t *testing.T) {
	for code, want := range map[string]int{"FD611": 1, "FD104": 2} {
		var findings []*report.Finding
		for _, bundle := range []string{"a", "b"} {
			o := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: bundle, Name: "settings"}
			findings = append(findings, &report.Finding{Code: code, Bundle: "fleet-default/" + bundle, Object: o,
				Message: "Fleet reports " + o.Key().String() + " as missing"})
		}
		if got := digest.Problems(findings, 0); len(got) != want {
			t.Errorf("%s: %d problems, want %d", code, len(got), want)
		}
	}
}

// TestSeveralKinds: objects of several kinds are not counted as those of the first one.
func TestSeveralKinds(t *testing.T) {
	var findings []*report.Finding
	for _, kind := range []string{"ConfigMap", "Secret", "ConfigMap"} {
		findings = append(findings, &report.Finding{Code: "FD106", Message: "it is abandoned",
			Object: object.Ref{APIVersion: "v1", Kind: kind, Namespace: "shop", Name: "web"}})
	}
	for n, want := range map[int]string{2: "2 objects (web): it is abandoned", 1: "it is abandoned"} {
		p := &digest.Problem{Findings: findings[:n]}
		if got := digest.NewHeadlines(&report.Audit{}).Of(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
