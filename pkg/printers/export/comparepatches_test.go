// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/export"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// written returns the output for a report, and its rules by bundle, as another library reads them.
func written(t *testing.T, a *report.Audit) (string, map[string][]v1alpha1.ComparePatch) {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteComparePatches(&b, a); err != nil {
		t.Fatal(err)
	}
	rules := map[string][]v1alpha1.ComparePatch{}
	for _, document := range strings.Split(b.String(), "\n---\n")[1:] {
		line, _, _ := strings.Cut(document, "\n")
		var fleetYAML struct{ Diff v1alpha1.DiffOptions }
		if err := yaml.UnmarshalStrict([]byte(document), &fleetYAML); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		rules[strings.TrimPrefix(line, "# bundle ")] = fleetYAML.Diff.ComparePatches
	}
	return b.String(), rules
}

// capture is a captured cluster; its bundle deployments can be changed.
type capture []map[string]any

func (c capture) audit(t *testing.T) (*report.Audit, error) {
	t.Helper()
	stream, err := (&cases.Capture{Documents: c}).Stream()
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Open(t.Context(), []string{"-"}, stream)
	if err != nil {
		return nil, err
	}
	found, err := audit.Run(t.Context(), s, audit.Options{Commands: cases.Commands, Version: "test"})
	if err != nil {
		return nil, err
	}
	return found.Report(), nil
}

// with adds rules to the bundle deployments of their bundles, as Fleet does after a commit.
func (c capture) with(t *testing.T, a *report.Audit, rules map[string][]v1alpha1.ComparePatch) {
	t.Helper()
	bundles := map[string]string{}
	for _, bd := range a.BundleDeployments {
		bundles[bd.Namespace+"/"+bd.Name] = bd.Bundle
		if bd.Bundle == "" {
			bundles[bd.Namespace+"/"+bd.Name] = bd.Namespace + "/" + bd.Name
		}
	}
	for _, o := range c {
		items, _ := o["items"].([]any)
		for _, item := range append(items, o) {
			var bd struct {
				Kind     string
				Metadata struct{ Namespace, Name string }
			}
			convert(t, item, &bd)
			if added := rules[bundles[bd.Metadata.Namespace+"/"+bd.Metadata.Name]]; bd.Kind == "BundleDeployment" &&
				len(added) > 0 {
				add(t, item, added)
			}
		}
	}
}

func add(t *testing.T, bundleDeployment any, rules []v1alpha1.ComparePatch) {
	t.Helper()
	at, ok := bundleDeployment.(map[string]any)
	for _, name := range []string{"spec", "options", "diff"} {
		if !ok {
			t.Fatal("a bundle deployment without an object in its spec")
		}
		if at[name] == nil {
			at[name] = map[string]any{}
		}
		at, ok = at[name].(map[string]any)
	}
	all, _ := at["comparePatches"].([]any)
	for _, r := range rules {
		var rule map[string]any
		convert(t, r, &rule)
		all = append(all, rule)
	}
	at["comparePatches"] = all
}

func convert(t *testing.T, from, to any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

type objectOn struct {
	namespace, deployment string
	object.Ref
}

// differences returns the fields that differ by object, and the states of the other objects.
func differences(a *report.Audit) (paths map[objectOn][]string, states map[objectOn]report.State) {
	paths, states = map[objectOn][]string{}, map[objectOn]report.State{}
	for _, bd := range a.BundleDeployments {
		for _, r := range bd.Resources {
			on := objectOn{bd.Namespace, bd.Name, r.Ref}
			if r.State != report.Modified {
				states[on] = r.State
				continue
			}
			for _, d := range r.Differences {
				paths[on] = append(paths[on], d.Path)
			}
		}
	}
	return paths, states
}

// remaining returns the fields that the rules do not ignore, as the output states in its comments.
func remaining(t *testing.T, output string, paths map[objectOn][]string) map[objectOn][]string {
	t.Helper()
	kept := map[objectOn][]string{}
	for on, all := range paths {
		for _, path := range all {
			if strings.Contains(output, "# - "+on.Key().String()+": "+path+": ") {
				kept[on] = append(kept[on], path)
			}
		}
	}
	return kept
}

// checkPatches audits a cluster, adds the rules and audits it again. It returns the numbers of ignored fields and of
// others.
func checkPatches(t *testing.T, c capture) (ignored, others int) {
	t.Helper()
	before, err := c.audit(t)
	if err != nil {
		return 0, 0 // a case without a report
	}
	output, rules := written(t, before)
	paths, states := differences(before)
	want := remaining(t, output, paths)
	c.with(t, before, rules)
	after, err := c.audit(t)
	if err != nil {
		t.Fatal(err)
	}
	got, statesAfter := differences(after)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences with the rules (-want +got):\n%s\n%s", diff, output)
	}
	for on, state := range states {
		if on.Kind == "Job" && state == report.Missing {
			expectIgnored(t, on, rules, statesAfter)
			continue
		}
		if statesAfter[on] != state {
			t.Errorf("%v was %s, and is %s with the rules", on, state, statesAfter[on])
		}
	}
	for _, all := range paths {
		ignored += len(all)
	}
	for _, all := range want {
		ignored, others = ignored-len(all), others+len(all)
	}
	return ignored, others
}

// expectIgnored checks that a missing Job has a rule, with which it is not reported.
func expectIgnored(t *testing.T, on objectOn, rules map[string][]v1alpha1.ComparePatch,
	after map[objectOn]report.State) {
	t.Helper()
	ignored := false
	for _, all := range rules {
		ignored = ignored || compare.Ignored(all, on.Ref)
	}
	if _, reported := after[on]; reported == ignored {
		t.Errorf("%v is ignored: %v, and is reported: %v", on, ignored, reported)
	}
}

// TestCases checks in every case of the project that the rules make exactly the listed differences disappear.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../../test/testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var head map[string]any
			read, err := cases.Read(file, &head)
			if err != nil {
				t.Fatal(err)
			}
			if err := read.Complete(nil); err != nil {
				t.Fatal(err)
			}
			ignored, _ := checkPatches(t, read.Documents)
			total += ignored
		})
	}
	if total < 20 {
		t.Errorf("only %d differences are ignored in all cases", total)
	}
}

// TestSamples checks the same in the samples, and how many fields have no rule.
func TestSamples(t *testing.T) {
	for name, want := range map[string][2]int{"sick": {2, 0}, "drift": {65, 1}} {
		files, err := filepath.Glob("../../../test/testdata/" + name + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("no sample %s: %v", name, err)
		}
		var c capture
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var list map[string]any
			if err := json.Unmarshal(raw, &list); err != nil {
				t.Fatal(err)
			}
			c = append(c, list)
		}
		if ignored, others := checkPatches(t, c); ignored != want[0] || others != want[1] {
			t.Errorf("%s: %d fields are ignored and %d are not, want %v", name, ignored, others, want)
		}
	}
}

// TestClusters checks fields that differ on several clusters.
func TestClusters(t *testing.T) {
	ref := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "web"}
	on := func(cluster string, differences ...report.Difference) report.BundleDeployment {
		return report.BundleDeployment{Namespace: "cluster-" + cluster, Name: "web", Cluster: "fleet/" + cluster,
			Bundle:    "fleet/web",
			Resources: []report.Resource{{Ref: ref, State: report.Modified, Differences: differences}}}
	}
	d := func(path, pointer string) report.Difference { return report.Difference{Path: path, Pointer: pointer} }
	a := &report.Audit{BundleDeployments: []report.BundleDeployment{
		on("a", d(".spec.replicas", "/spec/replicas"), d(".spec.list[name=\"x\"].v", "/spec/list/0/v"),
			d(".spec.m", "/spec/m"), d(".spec.n", "")),
		on("b", d(".spec.replicas", "/spec/replicas"), d(".spec.list[name=\"x\"].v", "/spec/list/1/v"),
			d(".spec.list[name=\"y\"].v", "/spec/list/0/v")),
	}}
	output, rules := written(t, a)
	want := []v1alpha1.ComparePatch{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "web",
		JSONPointers: []string{"/spec/m", "/spec/replicas"}}}
	if diff := cmp.Diff(want, rules["fleet/web"]); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if !strings.Contains(output, ".spec.replicas, on cluster fleet/a, fleet/b\n") ||
		strings.Contains(output, "A position") {
		t.Errorf("the clusters are not listed, or there is a remark about positions:\n%s", output)
	}
	a.BundleDeployments[1].Resources[0].State = report.Ready
	if output, _ := written(t, a); !strings.Contains(output, "A position") {
		t.Errorf("there is no remark about positions:\n%s", output)
	}
}

// TestHostile checks that text from a cluster is a comment or a scalar.
func TestHostile(t *testing.T) {
	a := reports.Hostile(reports.Full(), reports.Evil)
	for i := range a.BundleDeployments {
		for j := range a.BundleDeployments[i].Resources {
			a.BundleDeployments[i].Resources[j].Name = "a b: #\"'{}[]*&!|>%@`"
			for k := range a.BundleDeployments[i].Resources[j].Differences {
				d := &a.BundleDeployments[i].Resources[j].Differences[k]
				d.Pointer = "/data/- a: \"b\" # " + strings.Repeat("long ", 50)
				d.Desired = evaluate.Plain("x")
			}
		}
	}
	var b bytes.Buffer
	if err := export.WriteComparePatches(&b, a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b\x07\r\u009b\u202e\u2066\u2028\x7f\ufffe") {
		t.Error("the output has characters that act on a terminal")
	}
	for _, document := range strings.Split(b.String(), "\n---\n") {
		var decoded any
		if err := yaml.Unmarshal([]byte(document), &decoded); err != nil {
			t.Errorf("%v in\n%s", err, document)
		}
	}
}

// TestUnread checks that an audit that is not complete says so, and that an audit without modified objects prints no
// rule.
func TestUnread(t *testing.T) {
	complete, rules := written(t, reports.Sample(t, "clean"))
	unread, _ := written(t, reports.Unread())
	if len(rules) > 0 || strings.Contains(complete, "not complete") || !strings.Contains(unread, "not complete") {
		t.Errorf("complete:\n%s\nnot complete:\n%s", complete, unread)
	}
}

// TestMissingJobs checks that a missing Job has a rule with its namespace. Another missing object has none, and neither
// has a Job that may never have been deployed.
func TestMissingJobs(t *testing.T) {
	missing := func(apiVersion, kind string) report.Resource {
		return report.Resource{State: report.Missing, Ref: object.Ref{APIVersion: apiVersion, Kind: kind,
			Namespace: "web", Name: "cleanup"}}
	}
	a := &report.Audit{BundleDeployments: []report.BundleDeployment{
		{Bundle: "fleet/web", Cluster: "fleet/a", DesiredFrom: "release", Resources: []report.Resource{
			missing("batch/v1", "Job"), missing("v1", "ConfigMap"), missing("example.com/v1", "Job")}},
		{Bundle: "fleet/new", DesiredFrom: "bundle", Resources: []report.Resource{missing("batch/v1", "Job")}}}}
	output, rules := written(t, a)
	want := map[string][]v1alpha1.ComparePatch{"fleet/web": {{APIVersion: "batch/v1", Kind: "Job", Namespace: "web",
		Name: "cleanup", Operations: []v1alpha1.CompareOperation{{Op: "ignore"}}}}}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if !strings.Contains(output, "# - job web/cleanup, on cluster fleet/a\n") {
		t.Errorf("the Job and its cluster are not listed:\n%s", output)
	}
}
