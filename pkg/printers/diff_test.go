// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/printers"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// modified is a report with one modified object.
func modified(ref object.Ref, diffs ...report.Difference) *report.Audit {
	bd := report.BundleDeployment{Namespace: "cluster-one", Name: "web", Bundle: "fleet-default/web",
		Cluster: "fleet-default/one", State: report.Modified,
		Counts: report.Counts{Desired: 1, Modified: 1}, Resources: []report.Resource{{Ref: ref, State: report.Modified,
			Differences: diffs}}}
	var paths, evidence []string
	for _, d := range diffs {
		paths, evidence = append(paths, d.Path), append(evidence, d.Path+": "+d.Who())
	}
	return finished(&report.Audit{BundleDeployments: []report.BundleDeployment{bd},
		Findings: []report.Finding{{Code: "FD104", Severity: report.Warning, Object: ref,
			Cluster: bd.Cluster, BundleDeployment: "cluster-one/web", Message: ref.Key().String() + " differs in " +
				strings.Join(paths, ", "), Evidence: evidence}}})
}

// difference is a difference of a field with these names, written by kubectl.
func difference(desired, live any, names ...string) report.Difference {
	d := report.Difference{Manager: "kubectl-edit", Operation: "Update", Time: "2026-11-20T07:47:27Z"}
	for _, n := range names {
		d.Path += "." + n
		d.Steps = append(d.Steps, report.Step{Name: n})
	}
	if desired != nil {
		d.Desired = evaluate.Plain(desired)
	}
	if live != nil {
		d.Live = evaluate.Plain(live)
	}
	return d
}

// settings is a text of 60 lines.
func settings(change map[int]string, end string) string {
	lines := make([]string, 60)
	for i := range lines {
		lines[i] = fmt.Sprintf("setting-%02d = %d", i+1, i*i)
		if s, ok := change[i+1]; ok {
			lines[i] = s
		}
	}
	return strings.Join(lines, end) + end
}

// TestDiff compares the diffs of many kinds of values with their golden file.
func TestDiff(t *testing.T) {
	config := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "settings"}
	deployment := object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "web", Name: "frontend"}
	file := func(desired, live string) *report.Audit {
		return modified(config, difference(desired, live, "data", "app.conf"))
	}
	before := settings(nil, "\n")
	secret := difference(nil, nil, "data", "password")
	secret.Desired, secret.Live = evaluate.Secret("aW52ZW50ZWQ="), evaluate.Secret("b3RoZXI=")
	same := secret
	same.Path, same.Steps = ".data.copy", []report.Step{{Name: "data"}, {Name: "copy"}}
	same.Live, same.Note = evaluate.Secret("aW52ZW50ZWQ="), "the order differs"
	container := []report.Step{{Name: "spec"}, {Name: "template"}, {Name: "spec"}, {Name: "containers"},
		{Key: map[string]any{"name": "web"}}}
	image := report.Difference{Path: `.spec.template.spec.containers[name="web"].image`, Steps: append(container[:5:5],
		report.Step{Name: "image"}),
		Desired: evaluate.Plain("registry.example.com/web:1.2"), Live: evaluate.Plain("registry.example.com/web:1.3"),
		Release: evaluate.Plain("registry.example.com/web:1.1")}
	env := report.Difference{Path: `.spec.template.spec.containers[name="web"].env`, Steps: append(container[:5:5],
		report.Step{Name: "env"}), AtAdmission: true,
		Desired: evaluate.Plain([]any{map[string]any{"name": "A", "value": "1"},
			map[string]any{"name": "B", "value": "2"}, map[string]any{"name": "C", "value": "3"}}),
		Live: evaluate.Plain([]any{map[string]any{"name": "A", "value": "1"},
			map[string]any{"name": "C", "value": "3"}, map[string]any{"name": "D",
				"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "spec.nodeName"}}}})}
	replicas := difference(int64(2), int64(5), "spec", "replicas")
	replicas.Release = evaluate.Plain(int64(5))
	line := strings.Repeat("abcdefghij", 30)
	all := map[string]*report.Audit{
		"one-line": file(before, settings(map[int]string{30: "setting-30 = changed"}, "\n")),
		"two-places": file(before, settings(map[int]string{3: "setting-03 = changed",
			50: "setting-50 = changed\nsetting-50a = added"}, "\n")),
		"crlf":         file(before, settings(nil, "\r\n")),
		"one-crlf":     file(before, settings(map[int]string{30: "setting-30 = 841\r"}, "\n")),
		"no-line-end":  file("one\ntwo\n", "one\ntwo"),
		"blanks":       file("one\ntwo\n", "one\ntwo \n"),
		"tabs":         file("a:\n\tb = 1\n", "a:\n\tb = 2\n"),
		"invalid-utf8": file("one\ntwo \xff\n", "one\ntwo \xfe\n"),
		"long-line":    modified(config, difference(line+"1"+line, line+"2"+line, "data", "blob")),
		"many-lines":   file(before+before, strings.ReplaceAll(before+before, "=", ":=")),
		"lists":        modified(deployment, replicas, image, env),
		"secret":       modified(object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "smtp"}, secret),
		"hidden":       modified(object.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "smtp"}, same),
		"absent": modified(deployment, difference(nil, true, "spec", "paused"), difference("a", nil, "metadata",
			"labels", "example.com/tier")),
		"without-steps": modified(config, report.Difference{Path: ".data.app.conf", Desired: evaluate.Plain("a"),
			Live: evaluate.Plain("b")}),
		"three-sides": threeSides(t),
	}
	var p people
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.Add(name, show(t, all[name], "table", printers.Options{Diff: true}))
	}
	p.Add("long-line, --full", show(t, all["long-line"], "table", printers.Options{Diff: true, Full: true}))
	p.Add("another program shows the values", externalDiff(t))
	p.Compare(t, "differences.txt")
}

// TestDiffIsShort checks that the change of one line in a text of 60 lines shows this line and three lines before and
// after it.
func TestDiffIsShort(t *testing.T) {
	config := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "settings"}
	a := modified(config, difference(settings(nil, "\n"), settings(map[int]string{30: "setting-30 = changed"}, "\n"),
		"data", "app.conf"))
	out := show(t, a, "table", printers.Options{Diff: true})
	for i := 1; i <= 60; i++ {
		want := 0
		switch {
		case i == 30:
			want = 2
		case i >= 27 && i <= 33:
			want = 1
		}
		if n := strings.Count(out, fmt.Sprintf("setting-%02d", i)); n != want {
			t.Errorf("line %d is shown %d times, want %d", i, n, want)
		}
	}
}

// externalDiff is a difference whose values are left to another program, which is called once.
func externalDiff(t *testing.T) string {
	t.Helper()
	config := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "settings"}
	d := difference("desired value", "live value", "data", "key")
	d.Release = evaluate.Plain("released value")
	called := 0
	external := func(cluster string, of object.Ref, diffs []report.Difference) {
		if called++; cluster != "fleet-default/one" || of != config || len(diffs) != 1 || !diffs[0].Live.Equal(d.Live) {
			t.Errorf("called for %s on %s with %v", of, cluster, diffs)
		}
	}
	out := show(t, modified(config, d), "table", printers.Options{Diff: true, ExternalDiff: external})
	if called != 1 {
		t.Errorf("called %d times", called)
	}
	return out
}

// TestDiffPage checks that the example of the page is a part of the output.
func TestDiffPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```diff\n")
	example, _, ended := strings.Cut(example, "```")
	if out := show(t, sample(t, "sick"), "table", printers.Options{Diff: true}); !ended ||
		!strings.Contains(out, example) {
		t.Errorf("docs/output.md has another example:\n%s", out)
	}
}
