// SPDX-License-Identifier: Apache-2.0

package installation

import "slices"

// The version of the printed documents, and their kinds.
const (
	APIVersion = "fleetdoctor.io/v1alpha1"
	StatusKind = "WebhookStatus"
	TestKind   = "WebhookTest"
)

// State is the result of a check.
type State string

// The states, from the best to the worst.
const (
	OK State = "OK"
	// Note is the state of something that may be intended.
	Note State = "Note"
	// Unknown is the state of something that could not be read.
	Unknown State = "Unknown"
	Wrong   State = "Wrong"
)

// Status is the document that `webhook status` prints.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the reads (RFC 3339).
	TakenAt string `json:"takenAt"`
	// Namespace is the namespace of the installation.
	Namespace string `json:"namespace"`
	// State is the worst state of the checks: OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Installed is false if neither a webhook configuration nor the Deployment exists, and absent if that is unknown.
	Installed *bool `json:"installed,omitempty"`
	// Image is the image of the Deployment.
	Image string `json:"image,omitempty"`
	// Release is the Helm release ("namespace/name") with which Fleet deployed the webhook, absent if Fleet did not.
	Release string `json:"release,omitempty"`
	// Webhooks are the webhooks that the API server calls.
	Webhooks []WebhookStatus `json:"webhooks"`
	// Checks are the results in the order of the checks. A check of webhooks has one result for each webhook.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Name is one of installed, certificate, mutating, validating, deployment, endpoints, manifests, namespaces and
	// calls.
	Name string `json:"name"`
	// State is OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Message and Details are text for people.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
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

func (e *evaluation) add(name string, s State, message string, details ...string) {
	e.status.Checks = append(e.status.Checks, Check{name, s, message, details})
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, s) > slices.Index(order, e.status.State) {
		e.status.State = s
	}
}
