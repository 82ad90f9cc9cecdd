// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestForeignOwner gives an object the ownership metadata of a bundle that does not desire it.
func TestForeignOwner(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	other := f.deploy("other", theme)
	f.merge("kubectl-edit", configMap("settings"), `{"metadata":{
		"labels":{"objectset.rio.cattle.io/hash":"`+other.options.Hash+`"},
		"annotations":{"objectset.rio.cattle.io/id":"`+other.options.SetID+`"}}}`)
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified", "other": "Ready"},
		Objects:     map[string]string{settings: "Unowned ForeignOwner"},
		Findings:    []string{"FD102 " + settings},
	})
	want := &report.Owner{SetID: other.options.SetID, Hash: other.options.Hash, Release: "apps/guestbook",
		BundleDeployment: other.key()}
	if diff := cmp.Diff(want, r.resource(t, "guestbook", settings).Owner); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	expectContains(t, "the finding", r.finding(t, "FD102").Message, other.key())
}

// TestContested has two bundles that desire one object. The one that was deployed last owns it.
func TestContested(t *testing.T) {
	f := newFleet(t, shared)
	first := f.deploy("first", guestbook)
	second := f.bundle("second", `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: guestbook}}
data: {colour: green}
`)
	second.options.TakeOwnership = true
	second.deploy()
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"first": "Modified", "second": "Ready"},
		Objects:     map[string]string{settings: "Unowned ForeignOwner"},
		Findings:    []string{"FD102 " + settings, "FD103 " + settings},
	})
	contested := r.finding(t, "FD103")
	expectContains(t, "the finding", contested.Message, first.key(), second.key()+" owns it now")
	want := &report.Owner{SetID: second.options.SetID, Hash: second.options.Hash, Release: "apps/second",
		BundleDeployment: second.key()}
	if diff := cmp.Diff(want, r.resource(t, "first", settings).Owner); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
}
