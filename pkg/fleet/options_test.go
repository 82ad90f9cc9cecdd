// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// TestMergeOptions merges the options of a target over those of a bundle. Lists are keyed from 0.16 on.
func TestMergeOptions(t *testing.T) {
	for _, tc := range []struct {
		name, base, over, want, keyed string // as JSON; keyed is want if it is empty
	}{
		{name: "nothing", base: `{"defaultNamespace":"a"}`, over: `{}`, want: `{"defaultNamespace":"a"}`},
		{name: "texts", base: `{"defaultNamespace":"a","namespace":"b","forceSyncGeneration":1}`,
			over: `{"namespace":"c","forceSyncGeneration":2}`,
			want: `{"defaultNamespace":"a","namespace":"c","forceSyncGeneration":2}`},
		{name: "a ServiceAccount", base: `{"serviceAccount":"a"}`, over: `{"serviceAccount":"b"}`,
			want: `{"serviceAccount":"b"}`},
		{name: "values", base: `{"helm":{"values":{"m":{"a":1,"b":2},"l":[1,2]}}}`,
			over: `{"helm":{"values":{"m":{"b":3,"c":{}},"l":[3]}}}`,
			want: `{"helm":{"values":{"l":[3],"m":{"a":1,"b":3,"c":{}}}}}`},
		{name: "only values of the target", base: `{}`, over: `{"helm":{"values":{"a":1},"chart":"c"}}`,
			want: `{"helm":{"chart":"c","values":{"a":1}}}`},
		{name: "booleans", base: `{"keepResources":true,"helm":{"force":true}}`,
			over: `{"helm":{"takeOwnership":true}}`,
			want: `{"helm":{"takeOwnership":true,"force":true},"keepResources":true}`},
		{name: "templateValues", base: `{"helm":{"templateValues":{"a":"1","b":"2"}}}`,
			over: `{"helm":{"templateValues":{"b":"3"}}}`, want: `{"helm":{"templateValues":{"a":"1","b":"3"}}}`},
		{name: "valuesFrom", base: `{"helm":{"valuesFrom":[{"secretKeyRef":{"name":"a"}},` +
			`{"configMapKeyRef":{"name":"a"}}]}}`,
			over: `{"helm":{"valuesFrom":[{"secretKeyRef":{"name":"a"}}]}}`,
			want: `{"helm":{"valuesFrom":[{"secretKeyRef":{"name":"a"}},{"configMapKeyRef":{"name":"a"}},` +
				`{"secretKeyRef":{"name":"a"}}]}}`,
			keyed: `{"helm":{"valuesFrom":[{"secretKeyRef":{"name":"a"}},{"configMapKeyRef":{"name":"a"}}]}}`},
		{name: "comparePatches and overlays",
			base: `{"diff":{"comparePatches":[{"kind":"A"}]},"yaml":{"overlays":["x"]}}`,
			over: `{"diff":{"comparePatches":[{"kind":"A","jsonPointers":["/a"]}]},"yaml":{"overlays":["y"]},` +
				`"kustomize":{"dir":"k"}}`,
			want: `{"yaml":{"overlays":["x","y"]},"kustomize":{"dir":"k"},` +
				`"diff":{"comparePatches":[{"kind":"A"},{"kind":"A","jsonPointers":["/a"]}]}}`,
			keyed: `{"yaml":{"overlays":["x","y"]},"kustomize":{"dir":"k"},` +
				`"diff":{"comparePatches":[{"kind":"A","jsonPointers":["/a"]}]}}`},
		{name: "not merged", base: `{"namespaceLabels":{"a":"b"}}`,
			over: `{"namespaceLabels":{"a":"c"},"ignore":{"conditions":[{"a":"b"}]}}`,
			want: `{"namespaceLabels":{"a":"b"}}`},
	} {
		for _, keyed := range []bool{false, true} {
			var base, over, want v1alpha1.Options
			wanted := tc.want
			if keyed && tc.keyed != "" {
				wanted = tc.keyed
			}
			for _, read := range []struct {
				text string
				into *v1alpha1.Options
			}{{tc.base, &base}, {tc.over, &over}, {wanted, &want}} {
				if err := json.Unmarshal([]byte(read.text), read.into); err != nil {
					t.Fatal(err)
				}
			}
			before, err := json.Marshal(base)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, MergeOptions(base, over, keyed)); diff != "" {
				t.Errorf("%s, keyed %v (-want +got):\n%s", tc.name, keyed, diff)
			}
			if after, err := json.Marshal(base); err != nil || string(after) != string(before) {
				t.Errorf("%s: the options of the bundle were changed to %s", tc.name, after)
			}
		}
	}
}
