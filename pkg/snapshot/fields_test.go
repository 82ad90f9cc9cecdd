// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/agentconfig"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/golden"
)

// TestFields holds the list of captured fields. A field that is added to it may be secret: read docs/snapshots.md
// before you accept the change.
func TestFields(t *testing.T) {
	var out strings.Builder
	fmt.Fprintln(&out, "metadata of every object")
	write(&out, append(slices.Clone(listedMetadata),
		"managedFields (of an object that no bundle desires: without the names of fields)"))
	fmt.Fprintln(&out, "annotations of every object")
	write(&out, append(slices.Clone(readAnnotations), fleetGroup+"/*",
		"those that the manifest of a desired object states",
		appliedAnnotation+" (of a desired object)", "those of a Namespace that a bundle states"))
	for _, kind := range slices.Sorted(maps.Keys(fleetTypes)) {
		fmt.Fprintln(&out, kind+"."+fleetGroup)
		o := fleetTypes[kind]()
		filler.Fill(o)
		content, err := typed(map[string]any{}, o)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "metadata")
		paths := map[string]bool{}
		pathsOf(content, "", paths)
		write(&out, slices.Sorted(maps.Keys(paths)))
	}
	for _, gk := range slices.SortedFunc(maps.Keys(otherFields), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		fmt.Fprintln(&out, gk)
		write(&out, otherFields[gk])
	}
	fmt.Fprintln(&out, "variables of workloads that no bundle desires")
	write(&out, workloadVariables)
	golden.Compare(t, "fields.txt", out.String())
}

func write(out *strings.Builder, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, "  "+line)
	}
}

// filler fills every field of an object.
var filler = randfill.New().NilChance(0).NumElements(1, 1).Funcs(
	func(v *json.RawMessage, _ randfill.Continue) { *v = json.RawMessage(`"any"`) },
	func(v *time.Time, _ randfill.Continue) { *v = time.Unix(1, 0) },
	func(v *string, _ randfill.Continue) { *v = "x" },
	func(v *bool, _ randfill.Continue) { *v = true },
	func(v *int, _ randfill.Continue) { *v = 1 },
	func(v *int64, _ randfill.Continue) { *v = 1 },
	func(v *intstr.IntOrString, _ randfill.Continue) { *v = intstr.FromInt32(1) },
	func(_ *metav1.ObjectMeta, _ randfill.Continue) {})

// pathsOf adds the paths of the fields of an object. A field that may have any JSON, and one of which only the presence
// is captured, is marked.
func pathsOf(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if name == "x" {
				name = "*"
			}
			pathsOf(e, strings.TrimPrefix(path+"."+name, "."), into)
		}
		if len(v) == 0 {
			into[path+" (presence)"] = true
		}
	case []any:
		for _, e := range v {
			pathsOf(e, path+"[]", into)
		}
	case string:
		if v == "any" {
			path += " (any JSON)"
		}
		into[path] = true
	default:
		into[path] = true
	}
}

// TestEnvironment checks that the masked variables of an agent agree with the captured hash if the original ones did.
func TestEnvironment(t *testing.T) {
	const variables = `[{"name":"HTTPS_PROXY","value":"http://planted:1"}]`
	key := object.Key{Group: fleetGroup, Kind: "Cluster", Namespace: "fleet-local", Name: "local"}
	for hash, agree := range map[string]bool{agentconfig.EnvironmentHash([]byte(variables)): true, "another": false} {
		var content map[string]any
		if err := json.Unmarshal([]byte(`{"apiVersion":"fleet.cattle.io/v1alpha1","kind":"Cluster","spec":{`+
			`"agentEnvVars":`+variables+
			`},"status":{"agentEnvVarsHash":"`+hash+`"}}`), &content); err != nil {
			t.Fatal(err)
		}
		environment := environmentOf(content, key)
		secret.NewMasker([]byte("key")).Object(key).Mask(content)
		environment.restore(content)
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "planted") || strings.Contains(string(raw), hash) {
			t.Errorf("captured: %s", raw)
		}
		status, _ := content["status"].(map[string]any)
		if same := status["agentEnvVarsHash"] == environmentHash(content); same != agree {
			t.Errorf("agree %t: captured: %s", agree, raw)
		}
	}
}

// TestMark checks that an object of a cluster cannot mark itself as one of which a snapshot has only the metadata.
func TestMark(t *testing.T) {
	key := object.Key{Kind: "ConfigMap", Namespace: "apps", Name: "x"}
	f := fields{desired: map[object.Key]map[string]bool{key: {}}}
	annotations := map[string]any{"fleetdoctor.io/captured": "metadata"}
	content := map[string]any{"metadata": map[string]any{"annotations": annotations}}
	out, err := f.of(content, key)
	if raw, _ := json.Marshal(out); err != nil || strings.Contains(string(raw), "captured") {
		t.Errorf("captured: %s, error %v", raw, err)
	}
}
