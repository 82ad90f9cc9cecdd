// SPDX-License-Identifier: Apache-2.0

package admission

// Action is what the webhook does with a request. The values are labels of metrics and audit annotations.
type Action string

// The actions.
const (
	Stamped Action = "stamped"
	Passed  Action = "passed"
	Warned  Action = "warned"
	Denied  Action = "denied"
)

// Reason is the reason of a decision. The values are labels of metrics and audit annotations, and stable.
type Reason string

// The reasons of the mutating handlers. With Adopted, Restored and Exact the object gets ownership metadata.
const (
	Adopted    Reason = "Adopted"    // its metadata names the release
	Restored   Reason = "Restored"   // it had the release's hash, and would lose ownership metadata
	Exact      Reason = "Exact"      // it has no ownership metadata, and its namespace has exact adoption
	Owned      Reason = "Owned"      // it has the ownership metadata
	NotDesired Reason = "NotWanted"  // no release desires it
	Controlled Reason = "Controlled" // it has a controller
	NoMetadata Reason = "Unmarked"   // its metadata does not name the release
	Foreign    Reason = "Foreign"    // it has another owner that exists or may exist
	TooLarge   Reason = "TooLarge"   // its annotations would exceed the limit of the API server
	Contested  Reason = "Contested"  // several releases desire it, and its metadata names none of them
	// Unconfirmed: a release record of another namespace desires it, and nothing else confirms that record.
	Unconfirmed Reason = "Unconfirmed"
	// RateLimited: it loses its ownership metadata repeatedly.
	RateLimited Reason = "Braked"
)

// The reasons of the validating handler. Stripped, Changed and Deleted are harm.
const (
	Stripped Reason = "Stripped" // ownership metadata would be removed
	Changed  Reason = "Changed"  // ownership metadata would be changed
	Deleted  Reason = "Deleted"  // the object would be deleted
	Harmless Reason = "Harmless" // the ownership metadata does not change
	NotOwned Reason = "NotOwned" // no release owns the object
	Fleet    Reason = "Fleet"    // Fleet makes the request
	System   Reason = "System"   // the cluster itself makes the request, for example to collect garbage
)

// The reasons of all handlers.
const (
	Ignored     Reason = "Ignored"     // a label, or the client, asks the webhook to ignore the object
	Deleting    Reason = "Deleting"    // the object is being deleted
	NotReady    Reason = "NotReady"    // not all release records were read yet
	Undecodable Reason = "Undecodable" // the metadata of the object could not be read
	Failed      Reason = "Failed"      // the webhook failed
	NotHandled  Reason = "Unasked"     // the handler is not for this operation
)

// stamps reports whether an object gets ownership metadata for this reason.
func (r Reason) stamps() bool { return r == Adopted || r == Restored || r == Exact }
