// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/installation"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/server"
)

// TestNames checks that packages that may not import each other use the same names.
func TestNames(t *testing.T) {
	if repair.WebhookLabel != installation.Selector {
		t.Errorf("adopt with for a webhook by %q, and it is installed with %q", repair.WebhookLabel,
			installation.Selector)
	}
	if server.Name != installation.Name {
		t.Errorf("the webhook uses the name %q, and is installed as %q", server.Name, installation.Name)
	}
}
