// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookStale disconnects a webhook with the mode deny, while Fleet upgrades a bundle under a new account and
// deploys a new bundle that takes an object over. The webhook must not deny what it cannot know.
func TestWebhookStale(t *testing.T) {
	f := newFleet(t, shared)
	first := f.deploy("first", greetings("texts", "kept", "dropped"))
	p := f.proxy()
	disconnect := p.disconnectable(t)
	f.serveWebhook("default", "--kubeconfig", p.kubeconfig, "--guard-default=deny")
	deleting := func() error { return f.Client().Delete(t.Context(), configMap("kept"), client.DryRunAll) }
	if err := deleting(); !apierrors.IsForbidden(err) {
		t.Fatalf("deleting an owned object: error %v, want forbidden", err)
	}
	disconnect()
	poll.Until(t, deleting)

	first.options.ServiceAccount, first.options.User = "after", account(agentNamespace, "after")
	first.upgrade(greetings("texts", "kept"))
	if err := f.Client().Get(t.Context(), client.ObjectKey{Namespace: apps, Name: "dropped"},
		configMap("dropped")); !apierrors.IsNotFound(err) {
		t.Errorf("reading the dropped object: error %v, want not found", err)
	}
	second := f.bundle("second", greetings("texts"))
	second.options.TakeOwnership, second.options.User = true, account(agentNamespace, "fleet-agent")
	second.deploy()
	f.expectOwnership(second.ownership(), configMap("texts"))

	p.onRequest(nil)
	poll.Until(t, func() error {
		if err := deleting(); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("the deletion is not denied yet"), err)
		}
		return nil
	})
	f.merge("somebody", configMap("texts"), `{"data":{"touched":"yes"}}`)
	f.expectOwnership(second.ownership(), configMap("texts"))
}
