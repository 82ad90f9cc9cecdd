// SPDX-License-Identifier: Apache-2.0

package openreports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers/openreports"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/reports"
)

// schemas are the schemas of the CustomResourceDefinitions of the module, by kind. They permit no field that an API
// server would prune.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openreports/reports-api").Output()
	if err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Schema{}
	for _, file := range []string{"reports", "clusterreports"} {
		raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd",
			"openreports.io_"+file+".yaml"))
		if err != nil {
			return nil, err
		}
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			return nil, err
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		closeObjects(schema)
		c := jsonschema.NewCompiler()
		if err := c.AddResource("schema.json", schema); err != nil {
			return nil, err
		}
		if out[crd.Spec.Names.Kind], err = c.Compile("schema.json"); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// closeObjects excludes unknown fields from every object of a schema with known fields.
func closeObjects(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 {
		schema["additionalProperties"] = false
	}
	for _, p := range properties {
		if child, ok := p.(map[string]any); ok {
			closeObjects(child)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		closeObjects(items)
	}
}

// document is a Report, or a ClusterReport without a namespace.
type document struct {
	*v1alpha1.Report
	size int // of the JSON that kubectl apply keeps in an annotation
}

// read writes a report and validates each object as an API server does: metadata, schema, and no field that it would
// prune.
func read(t *testing.T, a *report.Audit) []document {
	t.Helper()
	var b bytes.Buffer
	if err := openreports.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	var out []document
	names := map[string]bool{}
	for d := utilyaml.NewYAMLOrJSONDecoder(&b, 4096); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if o == nil {
			continue
		}
		r := validated(t, o)
		if key := fmt.Sprint(r.Kind, r.Namespace, "/", r.Name); names[key] {
			t.Errorf("%s occurs twice", key)
		} else {
			names[key] = true
		}
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, document{r, len(raw)})
	}
}

func validated(t *testing.T, o map[string]any) *v1alpha1.Report {
	t.Helper()
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	schema := all[fmt.Sprint(o["kind"])]
	if schema == nil {
		t.Fatalf("kind %v", o["kind"])
	}
	if err := schema.Validate(o); err != nil {
		t.Error(err)
	}
	var r v1alpha1.Report
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &r); err != nil {
		t.Fatal(err)
	}
	if errs := validation.ValidateObjectMeta(&r.ObjectMeta, r.Kind == "Report", validation.NameIsDNSSubdomain,
		field.NewPath("metadata")); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	if total := r.Summary.Pass + r.Summary.Fail + r.Summary.Warn + r.Summary.Error +
		r.Summary.Skip; total != len(r.Results) {
		t.Errorf("the summary of %d results is %+v", len(r.Results), r.Summary)
	}
	return &r
}

// outcomes counts results by their outcome.
func outcomes(documents []document) map[v1alpha1.Result]int {
	out := map[v1alpha1.Result]int{}
	for _, d := range documents {
		for _, r := range d.Results {
			out[r.Result]++
		}
	}
	return out
}

// TestResults checks that each object and each finding of the sample has a result, in a report of its namespace. The
// finding that follows from another one is skip.
func TestResults(t *testing.T) {
	a := reports.Sample(t, "sick")
	documents := read(t, a)
	want := map[v1alpha1.Result]int{"pass": a.Summary.Counts.Ready, "fail": a.Summary.Findings.Error,
		"warn": a.Summary.Findings.Warning - 1, "skip": 1}
	if diff := cmp.Diff(want, outcomes(documents)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for _, d := range documents {
		for _, r := range d.Results {
			if r.Subjects[0].Namespace != d.Namespace || r.Timestamp != (metav1.Timestamp{Seconds: 1795160855}) {
				t.Errorf("the report of namespace %q has a result of %+v at %v", d.Namespace, r.Subjects[0],
					r.Timestamp)
			}
		}
	}
}

// TestUnread checks that what could not be read is an error, and that a cluster that is not part of the audit is
// skipped.
func TestUnread(t *testing.T) {
	want := map[v1alpha1.Result]int{"pass": 1, "error": 3, "skip": 1}
	a := reports.Unread()
	if got := outcomes(read(t, a)); !maps.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
	a.BundleDeployments[1].State = report.WaitApplied // as Fleet reports it
	if got := outcomes(read(t, a)); !maps.Equal(got, want) {
		t.Errorf("with a state of Fleet: results %v, want %v", got, want)
	}
}

// TestNamespaces checks that there is no Report in a namespace that cannot exist, or that no object proves.
func TestNamespaces(t *testing.T) {
	resource := func(namespace string, state report.State) report.Resource {
		return report.Resource{Ref: object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "a"},
			State: state}
	}
	on := func(cluster string, resources ...report.Resource) report.BundleDeployment {
		return report.BundleDeployment{Namespace: "cluster-a", Name: "web", Cluster: cluster, State: report.Modified,
			Resources: resources}
	}
	a := &report.Audit{BundleDeployments: []report.BundleDeployment{
		on("fleet/a", resource("web", report.Ready), resource("gone", report.Missing),
			resource("Not_Valid", report.Ready)),
		on("fleet/b", resource("web", report.Ready)),
		on("other/A_very.long/name-"+strings.Repeat("x", 300), resource("web", report.Ready)),
	}}
	got := map[string]int{}
	for _, d := range read(t, a) {
		got[d.Kind+" "+d.Namespace]++
	}
	if want := map[string]int{"Report web": 3, "ClusterReport ": 1}; !maps.Equal(got, want) {
		t.Errorf("objects %v, want %v", got, want)
	}
}

// TestLarge checks that no object is too large for the API server, and that no result is lost.
func TestLarge(t *testing.T) {
	const n = 5000
	bd := report.BundleDeployment{Namespace: "cluster-a", Name: "web", Cluster: "fleet/a", Bundle: "fleet/web",
		State: report.Modified}
	a := &report.Audit{}
	for i := range n {
		ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: fmt.Sprint("a", i)}
		bd.Resources = append(bd.Resources, report.Resource{Ref: ref, State: report.Ready})
		if i%10 == 0 {
			a.Findings = append(a.Findings, report.Finding{ID: fmt.Sprint(i), Code: "FD104", Severity: report.Warning,
				Object: ref, Cluster: bd.Cluster, Bundle: bd.Bundle,
				Message: strings.Repeat("ä", 100_000), Evidence: []string{strings.Repeat("e", 100_000)}})
		}
	}
	a.BundleDeployments = []report.BundleDeployment{bd}
	documents := read(t, a)
	if got := outcomes(documents); got["pass"] != n*9/10 || got["warn"] != n/10 {
		t.Errorf("results %v", got)
	}
	for _, d := range documents {
		if d.size > 256<<10 {
			t.Errorf("%s has %d bytes", d.Name, d.size)
		}
	}
}

// TestHostile checks that text from a cluster makes no object invalid, and acts on no terminal.
func TestHostile(t *testing.T) {
	a := reports.Hostile(reports.Full(), reports.Evil)
	read(t, a)
	var b bytes.Buffer
	if err := openreports.Write(&b, a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x00\x1b\x07\r\u009b\u202e\u2066\u2028\x7f\ufffe") {
		t.Error("the output has characters that act on a terminal")
	}
}

// TestLeftOut checks that findings which the report does not list are skipped results: each ignored one, and the
// numbers of the others.
func TestLeftOut(t *testing.T) {
	got := map[string]int{}
	for _, d := range read(t, reports.LeftOut()) {
		if file := d.Annotations["fleetdoctor.io/ignore-file"]; file != "team/ignored.yaml" {
			t.Errorf("report %s/%s: the ignore file is %q", d.Namespace, d.Name, file)
		}
		for _, r := range d.Results {
			if r.Policy != "DesiredState" {
				got[fmt.Sprint(d.Namespace, " ", r.Policy, " ", r.Rule, " ", r.Result)]++
			}
		}
	}
	want := map[string]int{"web FD104 ignored skip": 1, " LeftOut filter skip": 1, " LeftOut baseline skip": 1,
		" Note Note skip": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
