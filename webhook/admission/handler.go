// SPDX-License-Identifier: Apache-2.0

// Package admission answers admission requests. A handler decodes as little of a request as it needs, looks up facts in
// memory, and passes both to a pure function, decideMutation or decideValidation. The package makes no request to the API
// server while an admission request waits.
//
// After a failure the request passes, because a denial would apply independent of the failurePolicy.
package admission

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Events records Events about objects. It must not block.
type Events interface {
	RateLimited(about corev1.ObjectReference, message string)
}

// Options configure the handlers.
type Options struct {
	Index      Index
	Namespaces Namespaces
	// Ready reports whether all records were read once. Until then requests pass unchanged.
	Ready func() bool
	// Live reports whether changes are received as they happen, and the release records of a namespace are read; the namespace
	// "" means all. If not, no request is denied because of a release in the namespace, and the ownership metadata of an
	// unknown owner is not replaced.
	Live         func(namespace string) bool
	GuardDefault GuardMode
	// RecheckDelay is the time that a request waits before a second decision, if a record that is not known yet may change
	// the decision: before a denial, and before the ownership metadata of an unknown owner is replaced. Helm stores a record
	// shortly before it applies the manifest, and only this record shows that a new service account, or a new set, is Fleet's.
	RecheckDelay time.Duration
	RateLimiter  *RateLimiter
	Events       Events
	Observe      func(Outcome)
	Log          logr.Logger
}

// Outcome describes an answered request. Its texts have few values, so that they can be labels of metrics.
type Outcome struct {
	Handler  string // "stamp", "stamp-exact" or "guard"
	Decision Decision
	Reason   Reason
	Took     time.Duration
}

// Mutating is the handler that gives ownership metadata to objects that name a release in a part of it, or would lose it.
func Mutating(o Options) admission.Handler {
	return o.handler("stamp", func(req admission.Request, rechecked bool) (result, Request) {
		return o.mutating(req, false, rechecked)
	})
}

// MutatingExact is the handler that gives ownership metadata also to objects that have none.
func MutatingExact(o Options) admission.Handler {
	return o.handler("stamp-exact", func(req admission.Request, rechecked bool) (result, Request) { return o.mutating(req, true, rechecked) })
}

// Validating is the handler that guards the objects that a release owns.
func Validating(o Options) admission.Handler {
	return o.handler("guard", func(req admission.Request, _ bool) (result, Request) { return o.validating(req) })
}

// handler makes a handler from a function that decides about a request. The function is called again after a wait if a
// record may change the result.
func (o Options) handler(name string, decide func(req admission.Request, rechecked bool) (result, Request)) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) (response admission.Response) {
		start := time.Now()
		r, decoded := pass(NotReady), Request{}
		defer func() {
			if fault := recover(); fault != nil {
				// The recovered value may quote the request, and the stack does not.
				o.Log.Error(fmt.Errorf("fault of type %T", fault), "a request passed without a decision", "handler", name, "stack", string(debug.Stack()))
				r = pass(Failed)
			}
			o.Observe(Outcome{Handler: name, Decision: r.decision, Reason: r.reason, Took: time.Since(start)})
			response = r.response(decoded)
		}()
		if !o.Ready() {
			return response
		}
		if r, decoded = decide(req, false); r.recheck && wait(ctx, o.RecheckDelay) {
			r, decoded = decide(req, true)
		}
		if r.decision == Denied {
			o.Log.Info("a request was denied", "object", decoded.Key.String(), "user", decoded.User, "operation", string(req.Operation),
				"bundle", r.release.Bundle, "reason", string(r.reason))
		}
		return response
	})
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

// response is the answer to the API server, with annotations for its audit log.
func (r result) response(req Request) admission.Response {
	out := admission.Allowed("")
	if r.denial != nil {
		out = admission.Denied(r.denial.Error())
	}
	if len(r.set) > 0 {
		out.Patches = patch(req.New, r.set)
	}
	for _, w := range r.warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	out.AuditAnnotations = map[string]string{"decision": string(r.decision), "reason": string(r.reason)}
	if r.release.Bundle != "" {
		out.AuditAnnotations["bundle"] = r.release.Bundle
	}
	return out
}

// prepare decodes a request of one of the operations, and looks up facts about its object. If the request passes without a decision it returns
// only the reason. Most objects are not desired: of these it decodes nothing, and returns notDesired.
func (o Options) prepare(req *admission.Request, notDesired Reason, operations ...admissionv1.Operation) (Request, Facts, Reason) {
	if !slices.Contains(operations, req.Operation) || req.SubResource != "" {
		return Request{}, Facts{}, NotHandled
	}
	key := keyOf(req)
	releases := o.Index.Lookup(key)
	if len(releases) == 0 {
		return Request{}, Facts{}, notDesired
	}
	decoded, ok := decode(req, key)
	if !ok {
		return Request{}, Facts{}, Undecodable
	}
	return decoded, o.facts(decoded, releases), ""
}

// mutating decides about a request as a mutating handler.
func (o Options) mutating(req admission.Request, exact, rechecked bool) (result, Request) {
	decoded, facts, reason := o.prepare(&req, NotDesired, admissionv1.Create, admissionv1.Update)
	if reason != "" {
		return pass(reason), decoded
	}
	r := decideMutation(decoded, facts, exact, o.GuardDefault, rechecked)
	if r.lost {
		r = o.limit(r, &req, decoded)
	}
	return r, decoded
}

// validating decides about a request as the validating handler.
func (o Options) validating(req admission.Request) (result, Request) {
	decoded, facts, reason := o.prepare(&req, NotOwned, admissionv1.Update, admissionv1.Delete)
	if reason != "" {
		return pass(reason), decoded
	}
	return decideValidation(decoded, facts, o.GuardDefault), decoded
}

// limit counts a stamp of an object that had lost its ownership metadata, except in a dry run. An object over the rate limit is not stamped.
func (o Options) limit(r result, req *admission.Request, decoded Request) result {
	paused, first := o.RateLimiter.Count(decoded.Key, r.release.Metadata, ptr.Deref(req.DryRun, false))
	if !paused {
		return r
	}
	message := fmt.Sprintf("%s loses its ownership metadata each time it is restored, so it is ignored for %s; `kubectl fleetdoctor owner` shows which program changes it",
		decoded.Key, RateLimitPause)
	if first {
		o.Log.Info("an object exceeds the rate limit of stamps and is ignored", "object", decoded.Key.String(), "for", RateLimitPause.String())
		o.Events.RateLimited(reference(req, decoded), message)
	}
	return warn(RateLimited, r.release, Warning{WarnRateLimited, message})
}
