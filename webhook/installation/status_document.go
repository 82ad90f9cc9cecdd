// SPDX-License-Identifier: Apache-2.0

package installation

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"

// StatusKind is the kind of the printed document.
const StatusKind = "WebhookStatus"

// Status is the document that `webhook status` prints. Its checks are installed, certificate, mutating, validating,
// deployment, endpoints, manifests, namespaces, calls and test.
type Status struct {
	install.Status `json:",inline"`
	// Webhooks are the webhooks that the API server calls.
	Webhooks []WebhookStatus `json:"webhooks"`
	// Test shows the responses to dry runs, absent if no webhook configuration exists.
	Test *Test `json:"test,omitempty"`
}

// WebhookStatus is a webhook as it is configured in the API server.
type WebhookStatus struct {
	Name string `json:"name"`
	// Configuration is the kind and name of the webhook configuration.
	Configuration  string `json:"configuration"`
	FailurePolicy  string `json:"failurePolicy"`
	TimeoutSeconds int64  `json:"timeoutSeconds"`
	// CABundle is Trusted, Missing, Untrusted (the API server refuses the webhook's certificate) or Unknown.
	CABundle string `json:"caBundle"`
	// Calls are the calls that one API server has counted, absent if it counted none or its metrics could not be read.
	Calls *Calls `json:"calls,omitempty"`

	url string
}

// The values of WebhookStatus.CABundle.
const (
	caTrusted   = "Trusted"
	caMissing   = "Missing"
	caUntrusted = "Untrusted"
	caUnknown   = "Unknown"
)

// evaluation adds checks to a Status.
type evaluation struct {
	*Facts
	status *Status
}
