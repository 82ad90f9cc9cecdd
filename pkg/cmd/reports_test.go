// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cases"
)

const reported = "../../test/testdata/reports/"

// reportHead describes a stage of a report of users of Fleet. test/testdata/README.md describes its fields.
type reportHead struct {
	Kind        string                       `json:"kind"` // Report of the first stage, Stage of the others
	Description string                       `json:"description"`
	Source      string                       `json:"source"`
	Remove      []string                     `json:"remove"`
	Folders     map[string]map[string]string `json:"folders"`
	Asks        []ask                        `json:"asks"`
}

// ask is a command of the user, and what it must print.
type ask struct {
	Command []string `json:"command"`
	Exit    int      `json:"exit"`
	Says    []string `json:"says"`
	Never   []string `json:"never"`
	Known   string   `json:"known"` // why the answer is still wrong
}

// asked is a stage of a report that was written as a snapshot.
type asked struct {
	reportHead
	snapshot string
	capture  *cases.Capture
}

// reports are the stages of each report by its name.
func reports(t *testing.T) map[string][]asked {
	t.Helper()
	files, err := filepath.Glob(reported + "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	dir, out := t.TempDir(), map[string][]asked{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		stages, err := cases.Stages(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range stages {
			a := asked{snapshot: filepath.Join(dir, fmt.Sprintf("%s-%d.json", name, i+1)), capture: s.Capture}
			if err := sigsyaml.UnmarshalStrict(s.Head, &a.reportHead); err != nil {
				t.Fatalf("%s: stage %d: %v", file, i+1, err)
			}
			if err := s.CompleteCluster(); err != nil {
				t.Fatal(err)
			}
			in, err := s.Stream()
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if _, err := text.ReadFrom(in); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(a.snapshot, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			out[name] = append(out[name], a)
		}
	}
	return out
}

// inFolders makes the folders of a report, and works in the directory that has them.
func inFolders(t *testing.T, stages []asked) {
	t.Helper()
	dir := t.TempDir()
	for _, s := range stages {
		for folder, files := range s.Folders {
			for name, content := range files {
				file := filepath.Join(dir, folder, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Chdir(dir)
}

// pluginName is the name by which kubectl calls the program, in a directory that is on the PATH.
func pluginName(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	return filepath.Join(dir, "kubectl-fleetdoctor")
}

// TestReports asks about each cluster that users of Fleet reported what they would ask, and compares the exit status
// and what is printed. A line break is a space.
func TestReports(t *testing.T) {
	plugin := pluginName(t)
	for name, stages := range reports(t) {
		t.Run(name, func(t *testing.T) {
			inFolders(t, stages)
			asks := 0
			for i, s := range stages {
				for _, a := range s.Asks {
					asks++
					args := slices.Concat([]string{plugin}, a.Command, []string{"--snapshot", s.snapshot})
					a.compare(t, fmt.Sprintf("stage %d: %s", i+1, strings.Join(a.Command, " ")), called(t, "", args...))
				}
			}
			if stages[0].Kind != "Report" || stages[0].Description == "" || stages[0].Source == "" || asks == 0 {
				t.Error("it is no report, or it has no description, source or asks")
			}
		})
	}
}

// compare checks an answer. One that is known to be wrong must be wrong.
func (a *ask) compare(t *testing.T, name string, got result) {
	t.Helper()
	wrong := strings.Join(a.wrong(got), "; ")
	switch {
	case a.Known == "" && wrong != "":
		t.Errorf("%s: %s\n%s%s", name, wrong, got.out, got.errOut)
	case a.Known != "" && wrong == "":
		t.Errorf("%s: the answer is right now: remove \"known: %s\"", name, a.Known)
	case a.Known != "":
		t.Logf("%s: %s: %s", name, a.Known, wrong)
	}
}

// wrong lists how an answer differs from the right one.
func (a *ask) wrong(got result) []string {
	var out []string
	if got.status != a.Exit {
		out = append(out, fmt.Sprintf("exit status %d, want %d", got.status, a.Exit))
	}
	printed := oneLine(got.out + " " + got.errOut)
	for _, phrase := range a.Says {
		if !strings.Contains(printed, phrase) {
			out = append(out, fmt.Sprintf("it does not say %q", phrase))
		}
	}
	for _, phrase := range a.Never {
		if strings.Contains(printed, phrase) {
			out = append(out, fmt.Sprintf("it says %q", phrase))
		}
	}
	return out
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
