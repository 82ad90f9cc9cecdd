// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// fleetKinds are the kinds whose namespaces are removed one by one, too.
var fleetKinds = []string{"Bundle", "BundleDeployment", "Cluster", "ClusterGroup", "Content", "GitRepo", "HelmOp",
	"Secret"}

// TestRemoval removes each kind, and each namespace of a kind of Fleet, from each captured cluster, and runs every
// verb that only reads. What was removed is never "nothing": no verb ends in 0 that did not before, and an audit that
// finds less names in a gap what was removed.
func TestRemoval(t *testing.T) {
	for _, capture := range []string{"clean/*.json", "sick/*.json", "drift/*.json", "targets/*.yaml",
		"impact/management.yaml"} {
		objects := readObjects(t, filepath.Join("..", "..", "test", "testdata", capture))
		verbs := readOnlyVerbs(objects)
		whole := writeObjects(t, objects, nil)
		before := map[string]result{}
		for _, v := range verbs {
			before[v] = reading(t, v, whole)
		}
		for _, gone := range removals(objects) {
			t.Run(capture+" without "+gone.String(), func(t *testing.T) {
				t.Parallel()
				dir := writeObjects(t, objects, gone.has)
				for _, v := range verbs {
					after := reading(t, v, dir)
					if after.status == 0 && before[v].status != 0 {
						t.Errorf("%s: status 0, before %d:\n%s", v, before[v].status, after.out)
					}
					if strings.HasPrefix(v, "audit") {
						gone.compare(t, v, before[v].out, after.out)
					}
					if strings.HasPrefix(v, "impact") && after.status == 0 {
						compareImpact(t, v, before[v].out, after.out)
					}
				}
			})
		}
	}
}

// removal is what is removed from a capture: a kind, or its objects in one namespace.
type removal struct{ kind, namespace string }

// String names it.
func (r removal) String() string { return strings.TrimSuffix(r.kind+" in "+r.namespace, " in ") }

// has reports whether an object is removed.
func (r removal) has(m object.Meta) bool {
	return m.Kind == r.kind && (r.namespace == "" || m.Metadata.Namespace == r.namespace)
}

// names are the words with which a gap may name what was removed.
func (r removal) names() []string {
	return append([]string{r.kind}, map[string][]string{"Secret": {"release record", "values Secrets"},
		"Namespace": {"namespaces of clusters"}}[r.kind]...)
}

// compare compares the reports of an audit before and after the removal: each finding that is gone is hidden by a gap
// that names what was removed, by the state Unknown of its object, or by findings about the same object or
// deployment.
func (r removal) compare(t *testing.T, verb, before, after string) {
	t.Helper()
	var a, b report.Audit
	if json.Unmarshal([]byte(before), &b) != nil || json.Unmarshal([]byte(after), &a) != nil {
		return // the verb ended with an error, and its status was compared
	}
	for _, g := range a.Gaps {
		for _, name := range r.names() {
			if strings.Contains(g.What, name) {
				return
			}
		}
	}
	about := map[object.Ref]bool{}
	deployments := map[string]bool{}
	for _, f := range a.Findings {
		about[f.Object], deployments[f.BundleDeployment] = true, true
	}
	for _, f := range b.Findings {
		if f.Severity != "info" && !about[f.Object] && !deployments[f.BundleDeployment] {
			t.Errorf("%s: %s about %s is gone, and no gap names %s: %+v", verb, f.Code, f.Object.Key(), r, a.Gaps)
		}
	}
}

// compareImpact requires that a deletion removes as much as before the removal.
func compareImpact(t *testing.T, verb, before, after string) {
	t.Helper()
	var a, b report.Impact
	if json.Unmarshal([]byte(before), &b) != nil || json.Unmarshal([]byte(after), &a) != nil {
		t.Fatalf("%s: no report", verb)
	}
	for i := range b.Deletions {
		if had, has := b.Deletions[i].Summary.Removed, a.Deletions[i].Summary.Removed; has < had {
			t.Errorf("%s: removes %d objects, before %d", verb, has, had)
		}
	}
}

// capturedObject is an object of a capture.
type capturedObject struct {
	object.Meta
	raw json.RawMessage
}

// readObjects reads the Lists of a capture.
func readObjects(t *testing.T, pattern string) []capturedObject {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no file: %v", pattern, err)
	}
	var out []capturedObject
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
		for {
			var document json.RawMessage
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out = append(out, objectsIn(t, document)...)
		}
	}
	return out
}

// objectsIn returns the items of a List.
func objectsIn(t *testing.T, document json.RawMessage) []capturedObject {
	t.Helper()
	var list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(document, &list); err != nil {
		t.Fatal(err)
	}
	kind, isList := strings.CutSuffix(list.Kind, "List")
	if !isList {
		t.Fatalf("%s is no List", list.Kind)
	}
	var out []capturedObject
	for _, item := range list.Items {
		if kind != "" { // the API server leaves them out in a list of one kind
			item["apiVersion"], item["kind"] = list.APIVersion, kind
		}
		raw, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		c := capturedObject{raw: raw}
		if err := json.Unmarshal(raw, &c.Meta); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// writeObjects writes one List for each kind, as kubectl get -A writes them, without the objects that are removed. If
// a namespace of a kind is removed, it writes a List for each of the other namespaces, as kubectl get -n does.
func writeObjects(t *testing.T, objects []capturedObject, removed func(object.Meta) bool) string {
	t.Helper()
	apart := map[string]bool{} // the kinds of which a part is removed
	for _, o := range objects {
		if removed != nil && removed(o.Meta) {
			apart[o.Kind] = true
		}
	}
	lists := map[string][]json.RawMessage{}
	for _, o := range objects {
		name := o.Kind
		if apart[o.Kind] {
			name += "-" + o.Metadata.Namespace
		}
		if removed == nil || !removed(o.Meta) {
			lists[name] = append(lists[name], o.raw)
		}
	}
	dir := t.TempDir()
	for name, items := range lists {
		raw, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// removals are the kinds of a capture, and the namespaces of Fleet's kinds.
func removals(objects []capturedObject) []removal {
	found := map[removal]bool{}
	for _, o := range objects {
		found[removal{kind: o.Kind}] = true
		if slices.Contains(fleetKinds, o.Kind) && o.Metadata.Namespace != "" {
			found[removal{kind: o.Kind, namespace: o.Metadata.Namespace}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b removal) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// readOnlyVerbs are the commands that are compared: those about everything, and those about the first object of a kind.
func readOnlyVerbs(objects []capturedObject) []string {
	out := []string{"audit", "audit --require-complete", "audit --status-only", "audit -o tree", "agents", "preflight"}
	named := map[string]bool{}
	for _, o := range objects {
		target := strings.ToLower(o.Kind) + "/" + o.Metadata.Name
		if named[o.Kind] {
			continue
		}
		named[o.Kind] = true
		switch o.Kind {
		case "Bundle":
			out = append(out, "targets "+target)
			fallthrough
		case "GitRepo", "Cluster":
			out = append(out, "why "+target, "impact "+target)
		}
	}
	return out
}

// reading runs a verb on a snapshot, and returns its document as JSON.
func reading(t *testing.T, verb, snapshot string) result {
	t.Helper()
	args := append(strings.Fields("kubectl-fleetdoctor "+verb), "--snapshot", snapshot, "-o", "json")
	return calledIn(t.Context(), "", args...)
}
