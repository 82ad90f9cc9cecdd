// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"

// Decision is what the webhook decided about a request: a pure function of the request and of facts.
type Decision struct {
	action  Action
	reason  Reason
	release desired.Release // desires or owns the object; the zero value if it is not known which one does
	// set are the keys to write into the object with their values.
	set map[string]string
	// overUnknown is true if set replaces the metadata of an owner that is not known.
	overUnknown bool
	// lost is true if the stored object already lacks a value of set, so that the rate limit counts the stamp. Only
	// then can two programs undo each other's writes forever.
	lost   bool
	denial *DenialError
	// harm is what the request does to an object of a release, in every mode of the guard; nil for none.
	harm     *HarmError
	warnings []Warning
	// recheck is true if a record that is not known yet may change the decision.
	recheck bool
}

func pass(reason Reason) Decision { return Decision{action: Passed, reason: reason} }

// warn is the decision about a request that passes with a warning.
func warn(reason Reason, release desired.Release, warnings ...Warning) Decision {
	return Decision{action: Warned, reason: reason, release: release, warnings: warnings}
}
