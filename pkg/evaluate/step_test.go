// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// TestStepsOf checks the steps of each kind of path element. A name can contain dots.
func TestStepsOf(t *testing.T) {
	path := fieldpath.MakePathOrDie("data", "nginx.conf", fieldpath.KeyByFields("port", int64(443), "protocol", "TCP"),
		value.NewValueInterface("a/b"), 2)
	second := 2
	want := []Step{{Name: "data"}, {Name: "nginx.conf"}, {Key: map[string]any{"port": int64(443), "protocol": "TCP"}},
		{Member: "a/b"}, {Index: &second}}
	if diff := cmp.Diff(want, stepsOf(path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
