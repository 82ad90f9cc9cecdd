// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/adopt"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// TestNames holds that the rooms which may not know of each other have the same names for the same thing.
func TestNames(t *testing.T) {
	if adopt.WebhookLabel != installation.Selector {
		t.Errorf("adopt looks for a webhook by %q, and it is installed with %q", adopt.WebhookLabel, installation.Selector)
	}
	if server.Name != installation.Name {
		t.Errorf("the webhook calls itself %q, and is installed as %q", server.Name, installation.Name)
	}
}
