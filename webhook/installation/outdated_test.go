// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestOutdated checks which configurations must be deleted before an upgrade.
func TestOutdated(t *testing.T) {
	t.Parallel()
	desired := render(t, Values{})
	configurations := func(v Values, change func(map[string]any)) []*unstructured.Unstructured {
		var out []*unstructured.Unstructured
		for _, o := range render(t, v) {
			if IsConfiguration(o) {
				change(rawWebhooks(o)[0])
				out = append(out, o)
			}
		}
		return out
	}
	same := func(map[string]any) {}
	url := func(w map[string]any) { w["clientConfig"] = map[string]any{"url": "https://192.0.2.1/stamp"} }
	for name, tc := range map[string]struct {
		live []*unstructured.Unstructured
		want int
	}{
		"the same":            {configurations(Values{}, same), 0},
		"without one webhook": {configurations(Values{Exact: true}, same), 1},
		"a URL":               {configurations(Values{}, url), 2},
		"none":                {nil, 0},
	} {
		if got := Outdated(tc.live, desired); len(got) != tc.want {
			t.Errorf("%s: %d configurations, want %d", name, len(got), tc.want)
		}
	}
}
