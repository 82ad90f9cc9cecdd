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

// Decision is what a handler did with a request. The values are labels of metrics and audit annotations.
type Decision string

// The decisions.
const (
	Stamped Decision = "stamped"
	Passed  Decision = "passed"
	Warned  Decision = "warned"
	Denied  Decision = "denied"
)

// Reason is why a handler decided so. The values are labels of metrics and audit annotations, and stable.
type Reason string

// The reasons of the mutating handlers. For Adopted, Restored and Exact the object gets ownership metadata.
const (
	Adopted    Reason = "Adopted"    // it states that it is the release's
	Restored   Reason = "Restored"   // it had the release's hash, and would have lost ownership metadata
	Exact      Reason = "Exact"      // it has no ownership metadata, and its namespace asks for exact adoption
	Owned      Reason = "Owned"      // it has the ownership metadata
	NotDesired Reason = "NotWanted"  // no release desires it
	Controlled Reason = "Controlled" // a controller made it
	NoMetadata Reason = "Unmarked"   // it does not state that it is the release's
	Foreign    Reason = "Foreign"    // it has another owner, who exists or may exist
	TooLarge   Reason = "TooLarge"   // the API server would refuse it with the ownership metadata
	Contested  Reason = "Contested"  // several releases desire it, and it names none of them
	// RateLimited: it loses its ownership metadata again and again.
	RateLimited Reason = "Braked"
)

// The reasons of the validating handler. Stripped, Changed and Deleted are harm.
const (
	Stripped Reason = "Stripped" // ownership metadata would be removed
	Changed  Reason = "Changed"  // ownership metadata would be changed
	Deleted  Reason = "Deleted"  // the object would be deleted
	Harmless Reason = "Harmless" // the ownership metadata stays
	NotOwned Reason = "NotOwned" // no release owns the object
	Fleet    Reason = "Fleet"    // Fleet makes the request
	System   Reason = "System"   // the cluster itself makes the request, to clean up
)

// The reasons of all handlers.
const (
	Ignored     Reason = "Ignored"     // somebody asked to leave the object alone
	Deleting    Reason = "Deleting"    // the object is being deleted
	NotReady    Reason = "NotReady"    // not all release records were read yet
	Undecodable Reason = "Undecodable" // the object's metadata could not be read
	Failed      Reason = "Failed"      // the webhook failed
	NotHandled  Reason = "Unasked"     // the handler is not for this operation
)

// result is what a handler answers. It is a pure function of a request and facts.
type result struct {
	decision Decision
	reason   Reason
	release  desired.Release
	// set are the keys to write into the object with their values.
	set map[string]string
	// lost says that the rate limit counts the stamp.
	lost bool
	// denial is the message of a denied request.
	denial   string
	warnings []Warning
	// recheck says that a record which is not known yet may change the result.
	recheck bool
}

func pass(reason Reason) result { return result{decision: Passed, reason: reason} }

// decideMutation is the result of a mutating handler. rechecked says that the request has waited for records already.
func decideMutation(req Request, f Facts, exact bool, guardDefault GuardMode, rechecked bool) result {
	m := mutate(req, f, exact)
	r := result{decision: Passed, reason: m.reason, release: m.release, warnings: m.warnings}
	if len(r.warnings) > 0 {
		r.decision = Warned
	}
	switch {
	case len(m.set) == 0:
		return r
	case m.overUnknown && !rechecked: // a record may show the owner
		r.recheck = true
		return r
	}
	if m.reason == Restored {
		// The validating handler would not see the harm: it is called when the metadata is restored.
		guard := decideValidation(req, f, guardDefault)
		switch {
		case guard.decision == Denied, guard.recheck && !rechecked:
			return guard
		case guard.reason == Fleet && m.overUnknown: // Fleet gives the object to another of its sets
			return result{decision: Passed, reason: Foreign, release: m.release}
		case guard.decision == Warned:
			r.warnings = slices.Concat(guard.warnings, []Warning{{WarnRestored, "the ownership metadata of " + req.Key.String() + " was restored"}})
		}
	}
	r.decision, r.set, r.lost = Stamped, m.set, m.lost
	return r
}

// staleMessage follows a warning where the request would be denied: the webhook may not know yet that Fleet makes it.
const staleMessage = "the request would be denied, but the webhook does not receive changes from the API server at present, or has not read all of them"

// decideValidation is the result of the validating handler, in the guard mode of the object.
func decideValidation(req Request, f Facts, guardDefault GuardMode) result {
	v := validate(req, f)
	r := result{decision: Passed, reason: v.reason, release: v.release}
	if v.harm == "" {
		return r
	}
	labels := f.NamespaceLabels
	if req.Key.Namespace == "" {
		labels = req.Old.Metadata.Labels // as stored: a request cannot switch off the guard for itself
	}
	mode, notes := GuardModeOf(labels, guardDefault)
	// Also while the facts are stale: a watch that only begins again is back in a moment.
	r.recheck = mode == GuardDeny
	switch {
	case mode == GuardOff:
		return r
	case mode == GuardDeny && !f.liveFor(v):
		notes = append(notes, Warning{WarnStale, staleMessage})
	case mode == GuardDeny && v.doubt != "":
		notes = append(notes, Warning{WarnOwnerInDoubt, "the request would be denied, but " + v.doubt})
	case mode == GuardDeny:
		r.decision, r.denial = Denied, v.harm+". "+remedy(req.Key)
		r.warnings = notes
		return r
	}
	r.decision = Warned
	r.warnings = append([]Warning{{WarningCode(v.reason), v.harm}}, notes...)
	return r
}

// liveFor says whether enough is known about the releases that may own an object. A record that is not read yet can only
// show that a service account is Fleet's. For all other users one release whose records are all read is enough: so nobody
// avoids a denial by records of their own that claim the object and wait to be read.
func (f Facts) liveFor(v validation) bool {
	live := func(namespace string) bool { return f.LiveIn[namespace] }
	if v.mayBeFleet {
		return !slices.ContainsFunc(v.namespaces, func(namespace string) bool { return !live(namespace) })
	}
	return slices.ContainsFunc(v.namespaces, live)
}

// remedy says how the request is allowed.
func remedy(key object.Key) string {
	on := "its namespace"
	if key.Namespace == "" {
		on = "it"
	}
	return fmt.Sprintf("To do it anyway, label it %s=true first, or label %s %s=%s", IgnoreLabel, on, GuardLabel, GuardWarn)
}

// patch writes the keys into an object, and nothing else. A map that does not exist is created, because RFC 6902 cannot add
// to it.
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
