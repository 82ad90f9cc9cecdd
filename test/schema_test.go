// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// schemas are the schemas in docs/ by the kind of the document.
var schemas = map[string]string{
	"AuditReport":     "report.schema.json",
	"AdoptionPlan":    "adoption-plan.schema.json",
	"AdoptionResult":  "adoption-plan.schema.json",
	"RepairPlan":      "adoption-plan.schema.json",
	"RepairResult":    "adoption-plan.schema.json",
	"PreflightReport": "preflight-report.schema.json",
	"OwnerReport":     "owner-report.schema.json",
	"AgentsReport":    "agents-report.schema.json",
	"TargetsReport":   "targets-report.schema.json",
	"WhyReport":       "why-report.schema.json",
	"ImpactReport":    "impact-report.schema.json",
	"Explanation":     "explanation.schema.json",
	"VersionReport":   "version-report.schema.json",

	"ComparisonReport": "comparison-report.schema.json",
}

// schema compiles the schema of a kind. A strict schema refuses fields that it does not list.
func schema(t *testing.T, kind string, strict bool) *jsonschema.Schema {
	t.Helper()
	file, ok := schemas[kind]
	if !ok {
		t.Fatalf("no schema for kind %q", kind)
	}
	raw, err := os.ReadFile("../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	definitions, ok := document["$defs"].(map[string]any)
	if !ok {
		t.Fatalf("%s has no definitions", file)
	}
	for _, definition := range definitions {
		if d, ok := definition.(map[string]any); strict && ok && d["properties"] != nil {
			d["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkSchema validates a document with the schema of its kind, and checks that the schema lists all of its
// fields.
func checkSchema(t *testing.T, document []byte) {
	t.Helper()
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	var head struct{ Kind string }
	if err := json.Unmarshal(document, &head); err != nil {
		t.Fatal(err)
	}
	for _, strict := range []bool{false, true} {
		if err := schema(t, head.Kind, strict).Validate(d); err != nil {
			t.Errorf("strict %v: %v", strict, err)
		}
	}
}

// captured returns the case file as a snapshot on standard input.
func captured(t *testing.T, file string) io.Reader {
	t.Helper()
	var head map[string]any
	c, err := cases.Read(file, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(nil); err != nil {
		t.Fatal(err)
	}
	in, err := c.Stream()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestOutputFollowsItsSchema validates the output of -o json with the schemas in docs/, which are generated from
// the Go types.
func TestOutputFollowsItsSchema(t *testing.T) {
	for _, tc := range []struct {
		args   string
		in     string // a case file
		status int
	}{
		{args: "audit --snapshot testdata/sick", status: cli.ExitFound},
		{args: "audit --snapshot testdata/clean", status: cli.ExitOK},
		{args: "audit --snapshot testdata/drift", status: cli.ExitFound},
		{args: "adopt --snapshot testdata/sick", status: cli.ExitFound},
		{args: "adopt --snapshot testdata/sick --policy=unmarked deployment/frontend", status: cli.ExitOK},
		{args: "repair --snapshot testdata/sick --allow=deploy,recreate,delete", status: cli.ExitFound},
		{args: "repair --snapshot - --code=FD101,FD104", in: "testdata/cases/autoscalers.yaml", status: cli.ExitFound},
		{args: "repair --snapshot -", in: "testdata/cases/content-superseded.yaml", status: cli.ExitFound},
		{args: "owner --snapshot testdata/sick deployment/frontend service/edge clusterrole/edge-reader",
			status: cli.ExitOK},
		{args: "agents --snapshot testdata/sick", status: cli.ExitFailed},
		{args: "agents --snapshot -", in: "testdata/cases/agent-heartbeats.yaml", status: cli.ExitFound},
		{args: "agents --snapshot -", in: "testdata/cases/reimport-ca.yaml", status: cli.ExitFound},
		{args: "targets --snapshot testdata/sick bundle/guestbook-guestbook", status: cli.ExitOK},
		{args: "why --snapshot testdata/sick cluster/local gitrepo/guestbook", status: cli.ExitFound},
		{args: "why --snapshot - cluster/one cluster/two", in: "testdata/cases/not-applied.yaml",
			status: cli.ExitFound},
		{args: "impact --snapshot testdata/impact/management.yaml gitrepo/platform " +
			"--cluster-snapshot edge-1=testdata/impact/edge-1.yaml", status: cli.ExitFailed},
		{args: "impact --snapshot - helmop/db", in: "testdata/impacts/database.yaml", status: cli.ExitOK},
		{args: "explain", status: cli.ExitOK},
		{args: "version --client", status: cli.ExitOK},
		{args: "version --snapshot testdata/sick", status: cli.ExitOK},
		{args: "explain fd101 NotReady", status: cli.ExitOK},
		{args: "compare testdata/clean testdata/sick", status: cli.ExitFound},
		{args: "compare testdata/sick --as-version 0.11", status: cli.ExitFound},
		{args: "preflight --snapshot -", in: "testdata/preflights/install.yaml", status: cli.ExitFound},
		{args: "preflight --snapshot -", in: "testdata/preflights/upgrade.yaml", status: cli.ExitFound},
		{args: "preflight --snapshot -", in: "testdata/preflights/refused.yaml", status: cli.ExitFound},
	} {
		t.Run(tc.args+tc.in, func(t *testing.T) {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			if tc.in != "" {
				streams.In = captured(t, tc.in)
			}
			args := strings.Fields("kubectl-fleetdoctor " + tc.args + " -o json")
			if got := cmd.Main(t.Context(), args, cli.Environment{Streams: streams}); got != tc.status {
				t.Fatalf("status %d, want %d: %s", got, tc.status, errOut)
			}
			checkSchema(t, out.Bytes())
		})
	}
}

// TestGoldenFilesFollowTheirSchema validates the golden files of the printers; two are the results of an adoption
// and of a repair, which need a cluster.
func TestGoldenFilesFollowTheirSchema(t *testing.T) {
	files, err := filepath.Glob("../pkg/printers/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for kind := range schemas {
			seen[kind] = seen[kind] || bytes.Contains(content, []byte(`"kind": "`+kind+`"`))
		}
		t.Run(filepath.Base(file), func(t *testing.T) { checkSchema(t, content) })
	}
	for kind := range schemas {
		if !seen[kind] {
			t.Errorf("no golden file of kind %s", kind)
		}
	}
}

// TestSchemasRefuse checks that every schema refuses a document without its fields and a document of a wrong type.
func TestSchemasRefuse(t *testing.T) {
	for kind := range schemas {
		s := schema(t, kind, false)
		for _, document := range []any{map[string]any{}, map[string]any{"apiVersion": "x", "kind": kind}, []any{}} {
			if s.Validate(document) == nil {
				t.Errorf("%s: %v is valid", kind, document)
			}
		}
	}
}
