// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"context"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// TestReportFollowsItsSchema holds what `-o json` prints against the schema in docs/, which is made from the Go types.
func TestReportFollowsItsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"sick": exit.Found, "clean": exit.OK, "drift": exit.Found} {
		t.Run(name, func(t *testing.T) {
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			args := []string{"kubectl-fleetdoctor", "audit", "--snapshot", "testdata/" + name, "-o", "json"}
			if got := cmd.Main(context.Background(), args, streams); got != want {
				t.Fatalf("status %d, want %d: %s", got, want, errOut)
			}
			report, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(report); err != nil {
				t.Error(err)
			}
		})
	}
}
