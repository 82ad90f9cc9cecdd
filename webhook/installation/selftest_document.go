// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Result is the result of a self-test.
type Result string

// The results.
const (
	Works          Result = "Works"
	NotCalled      Result = "NotCalled"      // no handler answered
	ValidatingOnly Result = "ValidatingOnly" // the validating handler answered, the mutating handler did not
	MutatingOnly   Result = "MutatingOnly"   // the mutating handler answered, the validating handler did not
	NoObject       Result = "NoObject"       // there is no object to test with
	ResultUnknown  Result = "Unknown"        // the responses do not show it
)

// Answer is what the response to a request shows of the handler that the request tests.
type Answer string

// The answers.
const (
	Restored    Answer = "Restored"    // the handler added the set hash
	Denied      Answer = "Denied"      // the handler denied the request
	Warned      Answer = "Warned"      // the handler warned, and changed nothing
	NotAnswered Answer = "NotAnswered" // the response shows nothing of the handler
	Refused     Answer = "Refused"     // the request was refused, and not by this webhook
	Off         Answer = "Off"         // not sent: a label or the installation switches the handler off
)

// Test is the result of a self-test.
type Test struct {
	// Result is Works, NotCalled, ValidatingOnly, MutatingOnly, NoObject or Unknown.
	Result Result `json:"result"`
	// Message explains a result other than Works.
	Message string `json:"message,omitempty"`
	// Release is the Helm release ("namespace/name") that desires the object, absent if unknown.
	Release string `json:"release,omitempty"`
	// BundleDeployment is the name of the BundleDeployment of that release.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Create is the response to a dry run that creates an object that a release desires and that does not exist, absent
	// if none was sent.
	Create *Response `json:"create,omitempty"`
	// Strip is the response to a dry run that removes the label objectset.rio.cattle.io/hash, absent if none was sent.
	Strip *Response `json:"strip,omitempty"`
	// Delete is the response to a dry run that deletes the object of Strip.
	Delete *Response `json:"delete,omitempty"`
}

// Response is the response to one request.
type Response struct {
	Object object.Ref `json:"object"`
	// Answer is Restored, Denied, Warned, NotAnswered, Refused or Off.
	Answer Answer `json:"answer"`
	// Message is the message of a refusal.
	Message  string              `json:"message,omitempty"`
	Warnings []admission.Warning `json:"warnings,omitempty"`
	// Seconds is the duration of the request.
	Seconds float64 `json:"seconds"`

	forbidden bool // the API server, or a webhook, answered that the request is forbidden
}

// isForbidden reports whether the user has no right for the request. It is false if no request was sent.
func (r *Response) isForbidden() bool { return r != nil && r.forbidden && r.Answer == Refused }

// answered reports whether the handler answered.
func (r *Response) answered() bool {
	return r.Answer == Restored || r.Answer == Denied || r.Answer == Warned
}
