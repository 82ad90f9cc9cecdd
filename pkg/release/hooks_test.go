// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHooks reads when hooks run and are deleted, and the number of files with CustomResourceDefinitions.
func TestHooks(t *testing.T) {
	document := `{"name":"db","namespace":"apps","version":1,
		"chart":{"files":[{"name":"crds/a.yaml"},{"name":"crds/b.json"},{"name":"crds/README.md"},
			{"name":"docs/crds/c.yaml"},{"name":"raw-yaml/d.yaml"}]},
		"hooks":[
			{"kind":"Job","name":"backup","events":["pre-delete","pre-upgrade"],
				"delete_policies":["before-hook-creation","hook-succeeded"]},
			{"kind":"Job","name":"notify","events":["post-delete"],"delete_policies":["hook-failed"]},
			{"kind":"Job","name":"migrate","events":["pre-install"]},
			{"kind":"Job","name":"empty","events":null,"delete_policies":null},
			{"kind":"Job","name":"odd","events":[1,{"pre-delete":2},"unknown"]}]}`
	got, err := Decode(base64Of(packed(t, document)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Hook{
		{Kind: "Job", Name: "backup", Events: HookEvents{PreDelete: true, PreUpgrade: true},
			DeletePolicies: HookDeletion{Succeeded: true}},
		{Kind: "Job", Name: "notify", Events: HookEvents{PostDelete: true}, DeletePolicies: HookDeletion{Failed: true}},
		{Kind: "Job", Name: "migrate", Events: HookEvents{PreInstall: true}},
		{Kind: "Job", Name: "empty"}, {Kind: "Job", Name: "odd"},
	}
	if diff := cmp.Diff(want, got.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if got.CRDFiles != 2 {
		t.Errorf("%d files in crds/, want 2", got.CRDFiles)
	}
}
