// SPDX-License-Identifier: Apache-2.0

// Package admit answers admission requests. It has two storeys: this one decodes as little of a request as a decision needs, leaves early, and
// writes the answer; the packages stamp and guard decide.
//
// Whatever goes wrong here, the request passes: an answer that says "not allowed" would bind the API server, whatever its failurePolicy.
package admit

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/brake"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/guard"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/stamp"
)

// Registry knows who desires an object, who claims it, and who is there.
type Registry interface {
	stamp.Registry
}

// Namespaces knows the labels of namespaces that are meant for the webhook. A namespace that is not known has none.
type Namespaces interface {
	Labels(namespace string) map[string]string
}

// Events tells of what an answer does not tell, on the object that it is about. It must not block.
type Events interface {
	Braked(o Object, message string)
}

// Object is what a log, an Event or a metric may say of an object.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
}

// Options are what handlers work with.
type Options struct {
	Registry   Registry
	Namespaces Namespaces
	// Ready says whether all that can be known is known. Until then requests pass unchanged.
	Ready func() bool
	// Live says whether changes are heard of as they happen, and those of the release records of a namespace are read; the namespace "" stands
	// for all. Where that is not so nothing is denied to do with a release of the namespace, and nobody's marks are written over.
	Live         func(namespace string) bool
	GuardDefault guard.Mode
	// Patience is how long a request waits, and is decided once more, where a record that is not known yet might decide it: before it is denied,
	// and before marks are written over whose owner is not known. Helm stores a record a few requests before it acts on it, and by that record
	// alone a new service account, or a new set, is Fleet's.
	Patience time.Duration
	Brake    *brake.Brake
	Events   Events
	Observe  func(Outcome)
	Log      logr.Logger
}

// Decision is what a handler did with a request.
type Decision string

// The decisions.
const (
	Stamped Decision = "stamped"
	Passed  Decision = "passed"
	Warned  Decision = "warned"
	Denied  Decision = "denied"
)

// The reasons of this storey; the others are those of stamp and guard.
const (
	notReady    = "NotReady"    // not all release records are known yet
	undecodable = "Undecodable" // the object's metadata could not be read
	braked      = "Braked"      // somebody strips the object each time
	failed      = "Failed"      // a fault of the webhook
	unasked     = "Unasked"     // an operation that the handler is not for
)

// Outcome is what became of a request. Its words are few, and fit for the labels of a metric.
type Outcome struct {
	Handler  string // "stamp", "stamp-exact" or "guard"
	Decision Decision
	Reason   string
	Took     time.Duration
}

// Stamp is the handler that marks objects which say that they belong to a release of Fleet's, or would lose that mark.
func Stamp(o Options) admission.Handler { return handler(o, "stamp", stamper{o, false}.answer) }

// StampExact is the handler that also marks objects which name nobody.
func StampExact(o Options) admission.Handler {
	return handler(o, "stamp-exact", stamper{o, true}.answer)
}

// Guard is the handler that stands before harm to what a release owns.
func Guard(o Options) admission.Handler { return handler(o, "guard", guardian{o}.answer) }

// answer is what a storey below made of a request.
type answer struct {
	admission.Response
	decision Decision
	reason   string
	release  desired.Release
	// unsure says that what is not known yet might change it.
	unsure bool
}

func pass(reason string, release desired.Release) answer {
	return answer{Response: admission.Allowed(""), decision: Passed, reason: reason, release: release}
}

// handler makes a handler of what decides about a request, again after a while where it was unsure.
func handler(o Options, name string, decide func(req admission.Request, again bool) answer) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) (response admission.Response) {
		start := time.Now()
		a := pass(notReady, desired.Release{})
		defer func() {
			if fault := recover(); fault != nil {
				// What is recovered may quote the request; the stack does not.
				o.Log.Error(fmt.Errorf("fault of type %T", fault), "a request passed unseen", "handler", name, "stack", string(debug.Stack()))
				a = pass(failed, desired.Release{})
			}
			o.Observe(Outcome{Handler: name, Decision: a.decision, Reason: a.reason, Took: time.Since(start)})
			response = a.annotated()
		}()
		if !o.Ready() {
			return response
		}
		if a = decide(req, false); a.unsure && waited(ctx, o.Patience) {
			a = decide(req, true)
		}
		if a.decision == Denied {
			o.Log.Info("a request was denied", "object", keyOf(&req).String(), "user", req.UserInfo.Username, "operation", string(req.Operation),
				"bundle", a.release.Bundle, "reason", a.reason)
		}
		return response
	})
}

// waited is false where the request ends earlier.
func waited(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// annotated writes the answer's annotations for the audit log of the API server.
func (a answer) annotated() admission.Response {
	a.AuditAnnotations = map[string]string{"decision": string(a.decision), "reason": a.reason}
	if a.release.Bundle != "" {
		a.AuditAnnotations["bundle"] = a.release.Bundle
	}
	return a.Response
}

// dryRun says whether nothing will be stored.
func dryRun(req *admissionv1.AdmissionRequest) bool { return req.DryRun != nil && *req.DryRun }
