// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/cli"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

// stepRow is a row of the table of steps: the step, its codes and what allows it.
var stepRow = regexp.MustCompile(`(?m)^\| (\w+) \| ([^|]*FD[^|]*) \|.*\| ([^|]*) \|$`)

// TestSteps plans the repair of every case of an audit, with all steps allowed. The table of steps must have each step
// with its codes, in the order in which steps are made.
func TestSteps(t *testing.T) {
	codes := map[remedy.StepKind]string{}
	var order []remedy.StepKind
	for _, m := range stepRow.FindAllStringSubmatch(repairedHow, -1) {
		kind := remedy.StepKind(m[1])
		codes[kind], order = m[2], append(order, kind)
		if want := "`--allow=" + kind.Allowed() + "`"; kind.Allowed() != "" && m[3] != want {
			t.Errorf("%s: allowed %s, want %s", kind, m[3], want)
		}
	}
	if !slices.Equal(order, remedy.StepKinds()) {
		t.Errorf("the table has the steps %v, want %v", order, remedy.StepKinds())
	}
	files, err := filepath.Glob("../testdata/cases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for _, file := range files {
		for _, o := range planOf(t, file).Objects {
			steps++
			for _, code := range o.Codes {
				if !strings.Contains(codes[o.Step], code) {
					t.Errorf("%s: step %s for %s is not in the table of test/gen/repair.md", file, o.Step, code)
				}
			}
		}
	}
	if steps < 100 {
		t.Errorf("only %d steps", steps)
	}
}

// planOf returns the plan for a case. It is empty if no plan can be made, as without a result.
func planOf(t *testing.T, file string) (plan report.Repair) {
	t.Helper()
	var head map[string]any
	c, err := cases.Read(file, &head)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(nil); err != nil {
		t.Fatal(err)
	}
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	if streams.In, err = c.Stream(); err != nil {
		t.Fatal(err)
	}
	cmd.Main(t.Context(), []string{"kubectl-fleetdoctor", "repair", "--snapshot", "-", "-o", "json",
		"--allow=deploy,recreate,delete"}, cli.Environment{Streams: streams})
	if out.Len() == 0 {
		return plan
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}
