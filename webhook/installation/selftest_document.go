// SPDX-License-Identifier: Apache-2.0

package installation

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"

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

// MutatingAnswer is the response to a request for an object without TestedLabel: a creation, or the removal of the label.
type MutatingAnswer string

// The answers.
const (
	Restored         MutatingAnswer = "Restored"         // the handler has added the label
	Denied           MutatingAnswer = "Denied"           // the mutating handler denied the request, or warned before another webhook denied it
	Warned           MutatingAnswer = "Warned"           // the mutating handler warned, and did not add the label
	ValidatingAnswer MutatingAnswer = "ValidatingAnswer" // only the validating handler, which is called later, denied or warned
	Passed           MutatingAnswer = "Passed"           // no handler of this webhook answered
	NoAnswer         MutatingAnswer = "NoAnswer"         // the API server refused the request because the webhook did not answer
	RefusedByOthers  MutatingAnswer = "RefusedByOthers"  // the request was refused, and not by this webhook
)

// ValidatingResult is the response of the validating handler to a deletion.
type ValidatingResult string

// The answers of the validating handler.
const (
	ValidatingWarned    ValidatingResult = "Warned"
	ValidatingDenied    ValidatingResult = "Denied"
	ValidatingNotCalled ValidatingResult = "NotCalled"
	OffForNamespace     ValidatingResult = "OffForNamespace" // a label switches the handler off
	OffByDefault        ValidatingResult = "OffByDefault"    // no label switches the handler on, and --guard-default is off
	ValidatingUnknown   ValidatingResult = "Unknown"         // the response does not show it; the message has the reason
)

// Reason explains a result.
type Reason struct {
	// Code is stable.
	Code ReasonCode `json:"code"`
	// Message is text for people.
	Message string `json:"message"`
}

// ReasonCode is the stable part of a Reason.
type ReasonCode string

// The codes.
const (
	NotConfigured    ReasonCode = "NotConfigured"    // no webhook configuration has the webhook
	Unsuitable       ReasonCode = "Unsuitable"       // the object has no label to remove, is being deleted, or supports no dry run
	NotDesired       ReasonCode = "NotDesired"       // no release desires the object, or only the release of Fleet's agent
	RecordsUnread    ReasonCode = "RecordsUnread"    // release records could not be read or decoded
	Refused          ReasonCode = "Refused"          // another program refused the request
	NotAnswered      ReasonCode = "NotAnswered"      // the mutating handler did not answer
	ValidatingSilent ReasonCode = "ValidatingSilent" // the validating handler did not answer
)

// Test is the document that `webhook test` prints.
type Test struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the test (RFC 3339).
	TakenAt string `json:"takenAt"`
	// Result is Works, NotCalled, ValidatingOnly, MutatingOnly, NoObject or Unknown.
	Result Result `json:"result"`
	// Reasons explain a result other than Works.
	Reasons []Reason `json:"reasons,omitempty"`
	// Object is the object of the requests, absent if none was sent.
	Object *object.Ref `json:"object,omitempty"`
	// Release is the Helm release ("namespace/name") that desires the object, absent if unknown.
	Release string `json:"release,omitempty"`
	// BundleDeployment is the name of the BundleDeployment of that release.
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	// Create is the response to a dry run that creates an object that a release desires and that does not exist, absent if
	// none was sent.
	Create *Mutating `json:"create,omitempty"`
	// Mutating is the response to a dry run that removes the label objectset.rio.cattle.io/hash, absent if none was
	// sent.
	Mutating *Mutating `json:"mutating,omitempty"`
	// Validating is the response to a dry run that deletes the object, absent if the first response already gives the
	// result.
	Validating *Validating `json:"validating,omitempty"`
}

// Mutating is the response to a request that removes a label.
type Mutating struct {
	// Answer is Restored, Denied, Warned, ValidatingAnswer, Passed, NoAnswer or RefusedByOthers.
	Answer MutatingAnswer `json:"answer"`
	// Message is the message of a refusal.
	Message  string    `json:"message,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	// Seconds is the duration of the request.
	Seconds float64 `json:"seconds"`
	// Object is the object of a creation, absent for other requests.
	Object *object.Ref `json:"object,omitempty"`
}

// Validating is the response to a request that deletes an object.
type Validating struct {
	// Answer is Warned, Denied, NotCalled, OffForNamespace, OffByDefault or Unknown.
	Answer ValidatingResult `json:"answer"`
	// Message is the message of a refusal, or explains the answers NotCalled and Unknown.
	Message  string    `json:"message,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}
