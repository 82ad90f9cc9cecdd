// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	jsonpatch "gomodules.xyz/jsonpatch/v2"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

// Decision is the outcome of a request. The values are labels of metrics and audit annotations.
type Decision string

// The decisions.
const (
	Stamped Decision = "stamped"
	Passed  Decision = "passed"
	Warned  Decision = "warned"
	Denied  Decision = "denied"
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

// result is the answer of a handler. It is a pure function of a request and facts.
type result struct {
	decision Decision
	reason   Reason
	release  desired.Release // desires or owns the object; the zero value if it is not known which one does
	// set are the keys to write into the object with their values.
	set map[string]string
	// overUnknown is true if set replaces the metadata of an owner that is not known.
	overUnknown bool
	// lost is true if the stored object already lacks a value of set, so that the rate limit counts the stamp. Two programs can undo each other's
	// writes forever only in this case.
	lost     bool
	denial   *DenialError
	warnings []Warning
	// recheck is true if a record that is not known yet may change the result.
	recheck bool
}

func pass(reason Reason) result { return result{decision: Passed, reason: reason} }

// warn is the result for a request that passes with a warning.
func warn(reason Reason, release desired.Release, warnings ...Warning) result {
	return result{decision: Warned, reason: reason, release: release, warnings: warnings}
}

// DenialError is the error of a request that is denied. It contains the harm and the owner.
type DenialError struct{ *HarmError }

// Error implements error. It adds how the request is allowed.
func (e *DenialError) Error() string {
	on := "its namespace"
	if e.Object.Namespace == "" {
		on = "it"
	}
	return fmt.Sprintf("%v. To do it anyway, label it %s=true first, or label %s %s=%s", e.HarmError, IgnoreLabel, on, GuardLabel, GuardWarn)
}

// decideMutation is the result of a mutating handler. rechecked is true if the request has waited for records already.
func decideMutation(req Request, f Facts, exact bool, guardDefault GuardMode, rechecked bool) result {
	r := mutate(req, f, exact)
	switch {
	case len(r.set) == 0:
		return r
	case r.overUnknown && !rechecked: // a record may show the owner
		return result{decision: Passed, reason: r.reason, release: r.release, recheck: true}
	}
	if r.reason == Restored {
		// The API server calls the validating handler with the restored metadata, so that handler finds no harm.
		guard := decideValidation(req, f, guardDefault)
		switch {
		case guard.decision == Denied, guard.recheck && !rechecked:
			return guard
		case guard.reason == Fleet && r.overUnknown: // Fleet gives the object to another of its sets
			return result{decision: Passed, reason: Foreign, release: r.release}
		case guard.decision == Warned:
			r.warnings = slices.Concat(guard.warnings, []Warning{{WarnRestored, "the ownership metadata of " + req.Key.String() + " was restored"}})
		}
	}
	return r
}

// staleMessage is the warning for a request that would be denied. The webhook may not know yet that Fleet makes the request.
const staleMessage = "the request would be denied, but the webhook does not receive changes from the API server at present, or has not read all of them"

// decideValidation is the result of the validating handler, in the guard mode of the object.
func decideValidation(req Request, f Facts, guardDefault GuardMode) result {
	v := validate(req, f)
	r := result{decision: Passed, reason: v.reason, release: v.owner()}
	if v.harm == nil {
		return r
	}
	labels := f.NamespaceLabels
	if req.Key.Namespace == "" {
		labels = req.Old.Metadata.Labels // as stored: a request cannot switch off the guard for itself
	}
	mode, notes := GuardModeOf(labels, guardDefault)
	r.recheck = mode == GuardDeny // also while the facts are stale: the watch may be open again after the wait
	switch {
	case mode == GuardOff:
		return r
	case mode == GuardDeny && !f.liveFor(v):
		notes = append(notes, Warning{WarnStale, staleMessage})
	case mode == GuardDeny && v.doubt != "":
		notes = append(notes, Warning{WarnOwnerInDoubt, "the request would be denied, but " + v.doubt})
	case mode == GuardDeny:
		r.decision, r.denial, r.warnings = Denied, &DenialError{v.harm}, notes
		return r
	}
	r.decision, r.warnings = Warned, append([]Warning{{WarningCode(v.reason), v.harm.Error()}}, notes...)
	return r
}

// liveFor reports whether enough is known about the releases that may own an object. A record that is not read yet can only
// show that a service account is Fleet's. For all other users it is enough that the records of one release are all
// read: so a user cannot avoid a denial with records that claim the object and wait to be read.
func (f Facts) liveFor(v validation) bool {
	live := func(r desired.Release) bool { return f.LiveIn[r.Namespace] }
	if v.mayBeFleet {
		return !slices.ContainsFunc(v.releases, func(r desired.Release) bool { return !live(r) })
	}
	return slices.ContainsFunc(v.releases, live)
}

// patch writes the keys into an object. It creates a map that does not exist, because RFC 6902 cannot add to it.
func patch(m *object.Meta, set map[string]string) []jsonpatch.JsonPatchOperation {
	var out []jsonpatch.JsonPatchOperation
	for _, field := range []struct {
		label bool
		path  string
		have  map[string]string
	}{{true, "/metadata/labels", m.Metadata.Labels}, {false, "/metadata/annotations", m.Metadata.Annotations}} {
		values := map[string]string{}
		for _, k := range ownership.Keys() {
			v, ok := set[k.Name]
			if !ok || k.Label != field.label {
				continue
			}
			values[k.Name] = v
			if field.have != nil { // "add" replaces a value
				out = append(out, jsonpatch.NewOperation("add", field.path+"/"+strings.ReplaceAll(k.Name, "/", "~1"), v))
			}
		}
		if field.have == nil && len(values) > 0 {
			out = append(out, jsonpatch.NewOperation("add", field.path, values))
		}
	}
	return out
}
