// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// TestTaken has another bundle take an object over without wanting it: it got its marks by hand.
func TestTaken(t *testing.T) {
	f := newFleet(t, shared)
	f.deploy("guestbook", guestbook)
	thief := f.deploy("thief", theme)
	f.merge("thief", configMap("settings"), `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":"`+thief.options.Hash+`"},
		"annotations":{"objectset.rio.cattle.io/id":"`+thief.options.SetID+`"}}}`)
	r := f.audit()
	expect(t, r, outcome{
		Status:      1,
		Deployments: map[string]string{"guestbook": "Modified", "thief": "Ready"},
		Objects:     map[string]string{settings: "Unowned ForeignOwner"},
		Findings:    []string{"FD102 " + settings},
	})
	want := &report.Owner{SetID: thief.options.SetID, Hash: thief.options.Hash, Release: "apps/guestbook", BundleDeployment: thief.key()}
	if diff := cmp.Diff(want, r.resource(t, "guestbook", settings).Owner); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	says(t, "the finding", r.finding(t, "FD102").Message, thief.key())
}

// TestContested has two bundles want one object. Who deployed last has it.
func TestContested(t *testing.T) {
	f := newFleet(t, shared)
	first := f.deploy("first", guestbook)
	second := f.bundle("second", `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {app: guestbook}}, data: {colour: green}}`)
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
	says(t, "the finding", contested.Message, first.key(), second.key()+" owns it now")
	want := &report.Owner{SetID: second.options.SetID, Hash: second.options.Hash, Release: "apps/second", BundleDeployment: second.key()}
	if diff := cmp.Diff(want, r.resource(t, "first", settings).Owner); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
}
