// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestKindRemoved deletes a kind after a bundle has deployed an object of it. The object is Unknown, not missing.
func TestKindRemoved(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", widget+"\n---\n"+theme)
	expect(t, f.audit(), outcome{Deployments: map[string]string{"guestbook": "Ready"}})
	if err := f.undefine(t.Context(), "widgets.example.com"); err != nil {
		t.Fatal(err)
	}
	r := f.audit()
	expect(t, r, outcome{
		Status:      3,
		Deployments: map[string]string{"guestbook": "Unknown"},
		Objects:     map[string]string{widgetKey: "Unknown KindNotServed"},
		Gaps:        []string{"reading Widget objects in namespace apps: KindNotServed"},
	})
	if got, want := r.deployment(t, "guestbook").Counts, (report.Counts{Desired: 2, Ready: 1,
		Unknown: 1}); got != want {
		t.Errorf("counts: %+v, want %+v", got, want)
	}
	if status := f.audit("--require-complete").status; status != 3 {
		t.Errorf("--require-complete: status %d, want 3", status)
	}
}

// TestGroupBroken has the kind's group served by an aggregated API without a backend. All other kinds are read.
func TestGroupBroken(t *testing.T) {
	f := newFleet(t, shared)
	f.define(widgets, "widgets.example.com")
	f.deploy("guestbook", widget+"\n---\n"+theme)
	if err := f.undefine(t.Context(), "widgets.example.com"); err != nil {
		t.Fatal(err)
	}
	// The server removes its own APIService of the group a moment later, and would remove this one in its place.
	own := object("apiregistration.k8s.io/v1", "APIService", "", "v1.example.com")
	poll.Until(t, func() error {
		err := f.Client().Get(t.Context(), client.ObjectKeyFromObject(own), own.DeepCopy())
		if err == nil {
			return errors.New("the server's own APIService still exists")
		}
		return client.IgnoreNotFound(err)
	})
	f.removeAtEnd(own)
	f.ApplyYAML(t, "admin", `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}
spec: {group: example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true,
  service: {namespace: apps, name: absent}}
`)
	poll.Until(t, func() error {
		if broken, err := f.serves(t.Context(), "example.com", "widgets"); err != nil || !broken {
			return fmt.Errorf("the group is not broken yet (%w)", err)
		}
		return nil
	})
	expect(t, f.audit(), outcome{
		Status:      3,
		Deployments: map[string]string{"guestbook": "Unknown"},
		Objects:     map[string]string{widgetKey: "Unknown ReadFailed"},
		Gaps:        []string{"reading Widget objects in namespace apps: ReadFailed"},
	})
}
