// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// sample audits a sample cluster of the project.
func sample(t *testing.T, name string, targets ...evaluate.Target) *report.Audit {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"../../test/testdata/" + name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands, Version: "test",
		Scope: evaluate.Scope{Targets: targets}})
	if err != nil {
		t.Fatal(err)
	}
	a := found.Report()
	a.Source.Path = "test/testdata/" + name
	return a
}

func show(t *testing.T, a *report.Audit, format string, o printers.Options) string {
	t.Helper()
	return shown(t, format, audited(a, o))
}

// audited is the document of a report, with a command for the permissions.
func audited(a *report.Audit, o printers.Options) printers.Document {
	o.PrintRole = "kubectl fleetdoctor audit --print-rbac"
	return printers.Audit(a, o)
}

// TestGolden compares audits with their golden file. After an intended change, run go test ./pkg/printers -update
// and read the difference.
func TestGolden(t *testing.T) {
	sick, clean := sample(t, "sick"), sample(t, "clean")
	remaining := ignored(t, sick)
	var p people
	for _, tc := range []struct {
		name string
		of   *report.Audit
	}{{"sick", sick}, {"clean", clean}, {"large", large()}, {"ignored", remaining}} {
		p.addDocument(t, tc.name, audited(tc.of, printers.Options{}))
		if tc.of != remaining {
			p.Add(tc.name+": --diff", show(t, tc.of, "table", printers.Options{Diff: true}))
			p.Add(tc.name+": --summary", show(t, tc.of, "table", printers.Options{Summary: true}))
		}
	}
	p.Add("one GitRepo of sick", show(t,
		sample(t, "sick", evaluate.Target{Kind: "gitrepo", Name: "guestbook"}), "table", printers.Options{}))
	p.Add("sick: --diff, in colour", show(t, sick, "table", printers.Options{Diff: true, Colour: true}))
	p.Add("all findings are ignored", show(t, remaining.WithFindings([]report.Finding{}), "table",
		printers.Options{}))
	// --all shows informational findings, aggregates with correct numbers, and the ready objects of a tree.
	p.Add("clean: --all", show(t, clean, "table", printers.Options{All: true}))
	p.Add("many: --all", show(t, many(), "table", printers.Options{All: true}))
	p.Compare(t, "audit.txt")
	golden.Compare(t, "audit.json", show(t, complete(sick, remaining), "json", printers.Options{}))
}

// complete is a report with the fields of several: what was ignored, gaps, a scope, and what only a live cluster has.
func complete(a, ignored *report.Audit) *report.Audit {
	out, other := *a, large()
	out.IgnoreFile, out.Ignored, out.Summary.Ignored = ignored.IgnoreFile, ignored.Ignored, ignored.Summary.Ignored
	out.Source, out.Scope, out.Gaps, out.Notes = other.Source, other.Scope, other.Gaps[:1], other.Notes
	out.Source.ClusterUID, out.Source.Path = a.Source.ClusterUID, a.Source.Path
	out.BundleDeployments = slices.Concat(a.BundleDeployments, other.BundleDeployments)
	out.Clusters = slices.Concat(a.Clusters, other.Clusters)
	return &out
}

// large is an invented report with long names, more findings of one code than the table shows, unicode and many gaps.
func large() *report.Audit {
	const long = "a-very-long-gitrepo-name-with-a-long-path-inside-fdba4"
	n := func(i int) *int { return &i }
	a := &report.Audit{
		TakenAt: "2026-01-02T03:04:05Z",
		Source: report.Source{Kind: "cluster", Context: "admin@production", Server: "https://cluster.example.com:6443",
			KubernetesVersion: "v1.36.3",
			FleetVersions: &report.FleetVersions{Controller: "v0.16.1",
				Agents: map[string]string{"fleet-default/downstream": "v0.15.6"}}},
		Scope: report.Scope{Namespaces: []string{"fleet-default"}, Targets: []string{"gitrepo/apps"}},
		Notes: []string{"bundle deployment x: its release was made for set \"default-x\"",
			"the object configmap a/b was found more than once"},
		GitRepos: []report.Aggregate{{Namespace: "fleet-default", Name: "apps",
			Actual:   &report.Actual{Counts: report.Counts{Desired: 20, Ready: 3}},
			Reported: &report.Reported{DesiredReady: n(20), Ready: n(20), State: "Ready"}}},
		Clusters: []report.Aggregate{{Namespace: "fleet-default", Name: "no-state",
			Reported: &report.Reported{State: "WaitCheckIn"}}},
	}
	big := report.BundleDeployment{Namespace: "cluster-fleet-default-downstream-with-a-rather-long-displ-b8b4e",
		Name: long, Cluster: "fleet-default/downstream",
		Bundle: "fleet-default/" + long, State: report.Modified, Release: "web/" + long + ":12", SetID: "default-" +
			long,
		Counts: report.Counts{Desired: 20, Ready: 2, Missing: 12, Modified: 2, Unowned: 1, NotReady: 2, Orphaned: 1,
			Unknown: 1},
		Reported: &report.Reported{State: "NotReady", DesiredReady: n(20), Ready: n(20)}}
	add := func(f report.Finding) {
		f.Cluster, f.BundleDeployment = big.Cluster, big.Namespace+"/"+big.Name
		a.Findings = append(a.Findings, f)
	}
	for i := range 12 {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprintf("theme-%02d", i)}
		add(report.Finding{Code: "FD101", Severity: report.Error, Object: ref, Message: ref.Key().String() +
			" is not on the cluster",
			Remediation: "kubectl -n fleet-default patch gitrepo apps --type=merge -p " +
				"'{\"spec\":{\"forceSyncGeneration\":1}}'"})
	}
	shop := object.Ref{APIVersion: "example.com/v1", Kind: "Shop", Namespace: "web", Name: "größe-店"}
	big.Resources = append(big.Resources, report.Resource{Ref: shop, State: report.Modified,
		Differences: []report.Difference{
			{Path: ".spec.text", Desired: evaluate.Plain("one\ntwo\n"), Live: evaluate.Plain("one\n\x1b[31mtwo\x07\n")},
			{Path: ".spec.list", Desired: evaluate.Plain([]any{"a", int64(1)}),
				Live: evaluate.Plain([]any{int64(1), "a"}),
				Note: "the order differs"},
			{Path: ".spec.password", Desired: evaluate.Secret("x"), Live: evaluate.Secret("y"), Manager: "größe",
				Operation: "Update", Time: "2026-01-02T03:04:05Z"},
			{Path: ".spec.gone", Desired: evaluate.Plain(true)}}})
	add(report.Finding{Code: "FD104", Severity: report.Warning, Object: shop,
		Message: "shop.example.com web/größe-店 differs in .spec.text, .spec.list, .spec.password, 1 more field",
		Evidence: []string{".spec.text: who changed it is not recorded",
			".spec.password: last written by größe (Update) at 2026-01-02T03:04:05Z"},
		Remediation: "kubectl fleetdoctor audit bundle/" + long + " --diff"})
	add(report.Finding{Code: "FD107", Severity: report.Warning, Object: shop,
		Message: "shop.example.com web/größe-店 is not ready: Ready=False (Geschlossen)",
		Evidence: []string{"a message \x1b[2J of the object,\r\nwith two lines, which is much longer than the " +
			"hundred columns of a terminal — 店 — and has a second part"},
		Remediation: "kubectl -n web describe shop.example.com/größe-店"})
	add(report.Finding{Code: "FD109", Severity: report.Info, Object: shop, Message: "for information"})
	a.Findings = append(a.Findings, report.Finding{Code: "FD106", Severity: report.Warning,
		Message: "configmap web/left has ownership metadata of set \"default-gone\", and no release on this cluster " +
			"has that set"})
	a.BundleDeployments = []report.BundleDeployment{big,
		{Name: "downstream", Release: "web/downstream:1", State: report.Ready, Counts: report.Counts{Desired: 1,
			Ready: 1}, Resources: []report.Resource{}},
		{Namespace: "cluster-two", Name: "unread", State: report.Unknown, Reason: "ClusterNotRead",
			Reported: &report.Reported{State: "Ready"}, Resources: []report.Resource{}}}
	for i := range 12 {
		a.Gaps = append(a.Gaps, report.Gap{What: fmt.Sprintf("reading Shop objects in namespace shop-%02d", i),
			Reason: "Forbidden", Detail: "user reader may not list it", Effect: "they are Unknown"})
	}
	return finished(a)
}

var command = regexp.MustCompile(`^ *→ (kubectl|helm) `)

// TestWidth checks that the table fits a terminal of 100 columns, except for commands.
func TestWidth(t *testing.T) {
	for _, name := range []string{"sick", "clean"} {
		for line := range strings.SplitSeq(show(t, sample(t, name), "table", printers.Options{Diff: true}), "\n") {
			if n := utf8.RuneCountInString(line); n > 100 && !command.MatchString(line) {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: blanks at the end of %q", name, line)
			}
		}
	}
}

// TestWidthOfLongNames checks that long names do not make the table wider than a terminal.
func TestWidthOfLongNames(t *testing.T) {
	table, _, _ := strings.Cut(show(t, large(), "table", printers.Options{Width: 100}), "AGGREGATE")
	for line := range strings.SplitSeq(table, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 && !command.MatchString(line) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestColour checks that colours are only used on request, and do not change the text.
func TestColour(t *testing.T) {
	for name, a := range map[string]*report.Audit{"sick": sample(t, "sick"), "large": large()} {
		for _, format := range formats {
			plain := show(t, a, format, printers.Options{Diff: true})
			coloured := show(t, a, format, printers.Options{Diff: true, Colour: true})
			if strings.Contains(plain, "\x1b") {
				t.Errorf("%s: -o %s has colours without a request", name, format)
			}
			if diff := cmp.Diff(strings.Split(plain, "\n"), strings.Split(escapes.ReplaceAllString(coloured, ""),
				"\n")); diff != "" {
				t.Errorf("%s: -o %s has another text in colour (-plain +coloured):\n%s", name, format, diff)
			}
			if has := escapes.MatchString(coloured); has != (format == "table" || format == "wide") {
				t.Errorf("%s: -o %s in colour: %v", name, format, has)
			}
		}
	}
}

// TestHostile fills every text of a report with characters that act on a terminal. No format for people may print them.
func TestHostile(t *testing.T) {
	const evil = "x\x1b[31m\x07\r\u009b2J\u202egnp.exe\u2066\u2028\x7fy"
	a := large()
	a.Source = report.Source{Kind: "snapshot", FleetVersions: &report.FleetVersions{}}
	fill(reflect.ValueOf(a).Elem(), evil)
	for i := range a.Findings {
		if f := &a.Findings[i]; f.BundleDeployment != "" { // findings without it are in another group
			f.BundleDeployment = a.BundleDeployments[0].Namespace + "/" + a.BundleDeployments[0].Name
		}
	}
	for _, format := range []string{"table", "wide", "name"} {
		reported := map[rune]bool{}
		for line := range strings.SplitSeq(show(t, a, format, printers.Options{Diff: true}), "\n") {
			for i, r := range line {
				if drives(r) && !reported[r] {
					reported[r] = true
					t.Errorf("-o %s prints %U: %q", format, r, line[max(0, i-40):i])
				}
			}
		}
	}
}

// drives reports whether a terminal acts on a character instead of showing it: control characters, and characters that
// change the direction of the text.
func drives(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// TestNothingIsLost checks that the wide table has every finding, gap, note and deployment.
func TestNothingIsLost(t *testing.T) {
	a := large()
	a.Findings = append(a.Findings, report.Finding{Code: "FD999", Severity: report.Error,
		BundleDeployment: "of/another-scope", Message: "of a deployment that is not listed"})
	out := strings.Join(strings.Fields(show(t, a, "wide", printers.Options{})), " ")
	has := func(kind, s string) {
		t.Helper()
		if !strings.Contains(out, strings.Join(strings.Fields(s), " ")) {
			t.Errorf("the wide table has no %s %q", kind, s)
		}
	}
	for _, f := range a.Findings {
		has("finding", f.Code+" "+f.Message)
		has("command", f.Remediation)
	}
	for _, g := range a.Gaps {
		has("gap", g.What)
	}
	for _, bd := range a.BundleDeployments {
		has("deployment", bd.Name)
	}
	for _, n := range a.Notes {
		has("note", n[1:]) // the table can print the first letter in upper case
	}
}

// showsGreen reports whether the result has the colour of a report without problems.
func showsGreen(out string) bool { return strings.Contains(resultOf(out), "\x1b[32m") }

// resultOf returns the lines of the result: those before the first empty one, without the first line of the head.
func resultOf(out string) string {
	_, result, _ := strings.Cut(out, "\n")
	result, _, _ = strings.Cut(result, "\n\n")
	return result
}

// TestQuiet checks that the output without problems is short, and that a report with something unread does not look
// like one.
func TestQuiet(t *testing.T) {
	clean := show(t, sample(t, "clean"), "table", printers.Options{Colour: true})
	if n := strings.Count(clean, "\n"); n > 8 || !showsGreen(clean) {
		t.Errorf("%d lines of a clean cluster:\n%s", n, clean)
	}
	ready := report.BundleDeployment{Namespace: "one", Name: "a", State: report.Ready, Counts: report.Counts{Desired: 1,
		Ready: 1}}
	for name, change := range map[string]func(*report.Audit){
		"a gap": func(a *report.Audit) {
			a.Gaps = []report.Gap{{What: "listing Pods", Reason: "Forbidden", Effect: "x"}}
		},
		"an unknown object": func(a *report.Audit) {
			a.BundleDeployments[0].Counts = report.Counts{Desired: 1, Unknown: 1}
		},
		"an unread deployment": func(a *report.Audit) {
			a.BundleDeployments = append(a.BundleDeployments, report.BundleDeployment{Name: "b", State: report.Unknown,
				Reason: "ClusterNotRead"})
		},
		"nothing was found wrong": func(*report.Audit) {},
	} {
		a := &report.Audit{BundleDeployments: []report.BundleDeployment{ready}}
		change(a)
		a = finished(a)
		green := showsGreen(show(t, a, "table", printers.Options{Colour: true}))
		if want := name == "nothing was found wrong"; green != want {
			t.Errorf("%s: the result is green: %v, want %v", name, green, want)
		}
	}
}

// TestFormats checks that YAML has the values of JSON for any text, and that every format reports a failed write.
func TestFormats(t *testing.T) {
	a := large()
	a.Findings[0].Message = "DEL \x7f, C1 \u0085\u009b, BOM \ufeff, \ufffe, <b>&amp;</b>, \u2028, \U0001F511"
	if diff := cmp.Diff(decode(t, show(t, a, "json", printers.Options{})),
		decode(t, show(t, a, "yaml", printers.Options{}))); diff != "" {
		t.Errorf("YAML and JSON have different values (-json +yaml):\n%s", diff)
	}
	for _, format := range slices.Concat(formats, templates) {
		if err := printIn(errWriter{}, format, printers.Audit(a, printers.Options{})); err == nil {
			t.Errorf("-o %s reports no error for a failed write", format)
		}
	}
}

// fill adds a text to every string of a value, except for the words of an enumeration. Unlike that of test/reports, it
// also changes codes.
func fill(v reflect.Value, evil string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() != reflect.TypeFor[report.Severity]() && v.Type() != reflect.TypeFor[report.State]() {
			v.SetString(v.String() + evil)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fill(v.Elem(), evil)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[report.Value]() {
			v.Set(reflect.ValueOf(evaluate.Plain(evil)))
			return
		}
		for i := range v.NumField() {
			if v.Type() == reflect.TypeFor[report.Source]() && v.Type().Field(i).Name == "Kind" {
				continue
			}
			fill(v.Field(i), evil)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), evil)
		}
	}
}
