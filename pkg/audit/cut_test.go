// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// TestCutCapture audits a truncated capture of a cluster without problems. The missing part makes objects Unknown. No
// object gets another state.
func TestCutCapture(t *testing.T) {
	documents := documentsOf(t, "../../test/testdata/clean")
	for _, desired := range []string{"ConfigMap theme", "Service frontend"} {
		kind, name, _ := strings.Cut(desired, " ")
		last := slices.IndexFunc(documents, func(d string) bool {
			return strings.Contains(d, "kind: "+kind+"\n") && strings.Contains(d, "\n  name: "+name+"\n")
		})
		if last < 0 {
			t.Fatalf("%s was not captured", desired)
		}
		ordered := append(slices.Delete(slices.Clone(documents), last, last+1), documents[last])
		var items strings.Builder
		for _, d := range ordered {
			items.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(d), "\n", "\n  ") + "\n")
		}
		list := "apiVersion: v1\nitems:\n" + items.String()
		stream := strings.Join(ordered, "---\n")
		t.Run(desired+" last of a List", func(t *testing.T) {
			t.Parallel()
			cutFrom(t, list, strings.LastIndex(list, "\n- apiVersion"),
				"kind: List\nmetadata:\n  resourceVersion: \"\"\n", 5)
		})
		t.Run(desired+" last of a stream", func(t *testing.T) {
			t.Parallel()
			cutFrom(t, stream, strings.LastIndex(stream, "\n---\n")+len("\n---"), "", 1)
		})
	}
}

// cutFrom audits a capture that is truncated after, and within, each step-th line from an offset. It adds the end of
// the document.
func cutFrom(t *testing.T, text string, from int, end string, step int) {
	t.Helper()
	whole := states(t, text+end)
	for ref, state := range whole {
		if state != report.Ready {
			t.Fatalf("%s is %s in the whole capture", ref, state)
		}
	}
	if len(whole) == 0 {
		t.Fatal("the whole capture has no results")
	}
	begin := from + 1
	for i, line := range strings.SplitAfter(text[begin:len(text)-1], "\n") {
		for _, n := range []int{begin + (len(line)+1)/2, begin + len(line)} {
			if i%step > 0 {
				continue
			}
			for ref, state := range states(t, text[:n]) {
				if state != report.Ready && state != report.Unknown {
					t.Errorf("cut after %q: %s is %s", text[n-20:n], ref, state)
				}
			}
		}
		begin += len(line)
	}
}

// documentsOf reads a folder of Lists in JSON as documents of YAML, as kubectl writes them.
func documentsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if strings.Contains(file, "customresourcedefinitions") {
				continue // to keep the test fast
			}
			text, err := yaml.JSONToYAML(item)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
	}
	return out
}

// states returns the states of the desired objects. It is empty if the audit fails.
func states(t *testing.T, text string) map[string]report.State {
	t.Helper()
	s, err := snapshot.Open(t.Context(), []string{"-"}, strings.NewReader(text))
	if err != nil {
		return nil
	}
	got, err := reportOf(audit.Run(t.Context(), s, audit.Options{}))
	if err != nil {
		return nil
	}
	out := map[string]report.State{}
	for _, bd := range got.BundleDeployments {
		for _, r := range bd.Resources {
			out[bd.Namespace+"/"+bd.Name+" "+resourceKey(r.Ref)] = r.State
		}
	}
	return out
}
