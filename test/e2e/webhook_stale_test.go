// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fleetdoctor/kubectl-fleetdoctor/test/poll"
)

// TestWebhookStale has Fleet go on while the webhook, which guards by deny, does not hear of it: under a new account, and with a new bundle that
// takes an object over. Of neither does it know more than that it does not know.
func TestWebhookStale(t *testing.T) {
	f := newFleet(t, shared)
	first := f.deploy("first", greetings("texts", "kept", "dropped"))
	p := f.proxy()
	cut := p.severable(t)
	f.serveWebhook("default", "--kubeconfig", p.kubeconfig, "--guard-default=deny")
	deleting := func() error { return f.Client().Delete(t.Context(), configMap("kept"), client.DryRunAll) }
	if err := deleting(); !apierrors.IsForbidden(err) {
		t.Fatalf("deleting what a bundle owns: got %v, want it to be forbidden", err)
	}
	cut()
	poll.Until(t, deleting)

	first.options.ServiceAccount, first.options.User = "after", account(agentNamespace, "after")
	first.upgrade(greetings("texts", "kept"))
	if err := f.Client().Get(t.Context(), client.ObjectKey{Namespace: apps, Name: "dropped"}, configMap("dropped")); !apierrors.IsNotFound(err) {
		t.Errorf("what the upgrade dropped: %v, want that it is gone", err)
	}
	second := f.bundle("second", greetings("texts"))
	second.options.TakeOwnership, second.options.User = true, account(agentNamespace, "fleet-agent")
	second.deploy()
	f.carries(second.stamps(), configMap("texts"))

	p.intercept(nil)
	poll.Until(t, func() error {
		if err := deleting(); !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("it is not forbidden again"), err)
		}
		return nil
	})
	f.merge("somebody", configMap("texts"), `{"data":{"touched":"yes"}}`)
	f.carries(second.stamps(), configMap("texts"))
}
