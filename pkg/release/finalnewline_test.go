// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
)

// TestObjectsFinalNewline checks that a block scalar at the end of any document keeps its last newline. The live object
// has the newline, so without it the object would be modified.
func TestObjectsFinalNewline(t *testing.T) {
	const script = "apiVersion: example.com/v1\nkind: Script\nmetadata:\n  name: a\nspec:\n  text: |\n    echo\n"
	// Helm writes an empty line after each document.
	r := release.Record{Manifest: "---\n# Source: a.yaml\n" + script +
		"\n---\n# Source: b.yaml\n" + script + "---\n" + script}
	objects, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, string(o.Raw))
	}
	const want = `{"apiVersion":"example.com/v1","kind":"Script","metadata":{"name":"a"},"spec":{"text":"echo\n"}}`
	if diff := cmp.Diff([]string{want, want, want}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
