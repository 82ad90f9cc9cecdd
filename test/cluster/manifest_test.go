// SPDX-License-Identifier: Apache-2.0

package cluster

import "testing"

// TestManifestID takes its values from docs/fleet-behavior.md, 2.1.
func TestManifestID(t *testing.T) {
	t.Parallel()
	for want, file := range map[string]bundleFile{
		"s-b538e5004002a3ba4700d90b52d258f575e288e584c03e0e301f2032e937f": {"foo", "bar"},
		"s-8ec83e9f3ffa79187784c4af4ed8ddc407a5dd34adbe38600c93fc0f5b8cf": {
			"cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cfg\ndata:\n  a: \"1 < 2 & 3\"\n",
		},
	} {
		if got, err := manifestID([]bundleFile{file}); got != want || err != nil {
			t.Errorf("manifestID(%s) = %q, %v, want %q", file.Name, got, err, want)
		}
	}
}
