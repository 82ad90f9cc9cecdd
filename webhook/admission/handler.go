// SPDX-License-Identifier: Apache-2.0

// Package admission answers admission requests. A request flows once through four steps: receive decodes as little of
// it as a decision needs, Options.facts looks up facts in memory, decideMutation or decideValidation decides as a pure
// function of both, and respond answers. The package makes no request to the API server while an admission request
// waits.
//
// After a failure the request passes, because a denial would apply independent of the failurePolicy.
package admission

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Mutating is the handler that gives ownership metadata to objects that name a release in a part of it, or would lose
// it.
func Mutating(o Options) admission.Handler { return mutating(o, "stamp", false) }

// MutatingExact is the handler that gives ownership metadata also to objects that have none.
func MutatingExact(o Options) admission.Handler { return mutating(o, "stamp-exact", true) }

func mutating(o Options, name string, exact bool) admission.Handler {
	decide := func(req Request, f Facts) Decision { return decideMutation(req, f, exact) }
	return handler{o, name, admissionv1.Create, NotDesired, decide}
}

// Validating is the handler that guards the objects that a release owns.
func Validating(o Options) admission.Handler {
	return handler{o, "guard", admissionv1.Delete, NotOwned, decideValidation}
}

// handler answers the requests of one webhook.
type handler struct {
	Options
	name string
	// operation is handled in addition to updates.
	operation admissionv1.Operation
	// notDesired is the reason for an object that no release desires.
	notDesired Reason
	decide     func(Request, Facts) Decision
}

// Handle implements admission.Handler.
func (h handler) Handle(ctx context.Context, review admission.Request) admission.Response {
	start := time.Now()
	req, d := h.decision(ctx, &review)
	h.Observe(Outcome{Handler: h.name, Decision: d.action, Reason: d.reason, Took: time.Since(start)})
	return respond(req, d)
}

// decision decides about a request, after a wait a second time if a record may change the decision.
func (h handler) decision(ctx context.Context, review *admission.Request) (req Request, d Decision) {
	defer func() {
		if fault := recover(); fault != nil {
			// The recovered value may quote the request, and the stack does not.
			h.Log.Error(fmt.Errorf("fault of type %T", fault), "a request passed without a decision",
				"handler", h.name, "stack", string(debug.Stack()))
			d = pass(Failed)
		}
	}()
	if !h.Ready() {
		return req, pass(NotReady)
	}
	if req, d = h.decideOnce(review, false); d.recheck && wait(ctx, h.RecheckDelay) {
		req, d = h.decideOnce(review, true)
	}
	if d.lost {
		d = h.limit(d, review, req)
	}
	h.writeDown(d, review, req)
	if d.action == Denied {
		h.Log.Info("a request was denied", "object", req.Key.String(), "user", req.User,
			"operation", string(review.Operation), "bundle", d.release.Bundle, "reason", string(d.reason))
	}
	return req, d
}

// writeDown writes down a request that passes and harms an object of a release.
func (h handler) writeDown(d Decision, review *admission.Request, req Request) {
	if d.harm == nil || h.Seen == nil {
		return
	}
	if d.action != Denied && !ptr.Deref(review.DryRun, false) {
		h.Seen(seen(review, req, d.harm, time.Now()), req.reference(review.Kind.Version))
	}
}

// decideOnce decides about a request with what is known now. Most objects are not desired: of these it decodes nothing.
func (h handler) decideOnce(review *admission.Request, rechecked bool) (Request, Decision) {
	handled := review.Operation == admissionv1.Update || review.Operation == h.operation
	if !handled || review.SubResource != "" {
		return Request{}, pass(NotHandled)
	}
	key := keyOf(review)
	releases := h.Index.Lookup(key)
	if len(releases) == 0 {
		return Request{}, pass(h.notDesired)
	}
	req, ok := receive(review, key)
	if !ok {
		return Request{}, pass(Undecodable)
	}
	return req, h.decide(req, h.facts(req, releases, rechecked))
}

// wait returns false if the request ends earlier.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// limit counts a stamp of an object that had lost its ownership metadata, except in a dry run. An object over the rate
// limit is not stamped.
func (h handler) limit(d Decision, review *admission.Request, req Request) Decision {
	paused, first := h.RateLimiter.Count(req.Key, d.release.Metadata, ptr.Deref(review.DryRun, false))
	if !paused {
		return d
	}
	message := fmt.Sprintf("%s loses its ownership metadata each time it is restored, so it is ignored for %s; "+
		"`kubectl fleetdoctor owner` shows which program changes it", req.Key, RateLimitPause)
	if first {
		h.Log.Info("an object exceeds the rate limit of stamps and is ignored",
			"object", req.Key.String(), "for", RateLimitPause.String())
		h.Events.RateLimited(req.reference(review.Kind.Version), message)
	}
	return warn(RateLimited, d.release, Warning{WarnRateLimited, message})
}
