// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Limits of a test without a named object: objects read, and requests sent.
const (
	maxReads    = 1000
	maxRequests = 20
)

// Tester tests whether an installed webhook answers.
type Tester struct {
	*Cluster
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time
}

// test adds results to a Test.
type test struct {
	*Tester
	doc   *Test
	scope scope
	live  *unstructured.Unstructured
}

// Test sends a server-side dry run that removes Fleet's set hash from an object, and one that deletes the object, and evaluates the responses.
// Nothing is changed. Without a named object it uses the first suitable one that a release of Fleet desires. The error is one of the context,
// or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	r := &test{Tester: t, scope: t.scopeOf(ctx, mutatingKind, StampWebhook),
		doc: &Test{APIVersion: APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}}
	var err error
	switch {
	case !r.scope.configured:
		r.set(NotCalled, NotConfigured, "no webhook configuration with the label "+Selector+" has the webhook "+StampWebhook+": the webhook is not installed, or disabled")
	case named != nil:
		err = r.testNamed(ctx, *named)
	default:
		r.testAny(ctx)
	}
	if err == nil && r.doc.Reasons == nil {
		r.doc.Validating = t.testValidating(ctx, *r.doc.Object, r.live, r.doc.Mutating)
		r.doc.Result = combine(r.doc.Result, r.doc.Validating.Answer)
		err = r.explain(ctx)
	}
	return r.doc, cmp.Or(ctx.Err(), err)
}

// set sets the result, with one reason for each message.
func (r *test) set(result Result, code ReasonCode, messages ...string) {
	r.doc.Result, r.doc.Reasons = result, nil
	for _, m := range messages {
		r.doc.Reasons = append(r.doc.Reasons, Reason{code, m})
	}
}

// combine returns the result of both requests. Works requires that the mutating handler answers, and that the validating handler is not known
// to be silent.
func combine(r Result, v ValidatingResult) Result {
	switch {
	case r == Works && v == ValidatingNotCalled:
		return MutatingOnly
	case r == NotCalled && (v == ValidatingWarned || v == ValidatingDenied):
		return ValidatingOnly
	}
	return r
}

// setMutating sets the response about an object, and its result.
func (r *test) setMutating(ref object.Ref, live *unstructured.Unstructured, m *Mutating) {
	r.doc.Object, r.live, r.doc.Mutating = &ref, live, m
	r.set(resultOf(m.Answer), "")
	if m.Answer == RefusedByOthers {
		r.set(ResultUnknown, Refused, "the request was refused, and not by this webhook: "+m.Message)
	}
}

// resultOf is the result of the first request, for an object that a release desires.
func resultOf(a MutatingAnswer) Result {
	switch a {
	case Restored, Denied, Warned:
		return Works
	case ValidatingAnswer:
		return ValidatingOnly
	case RefusedByOthers:
		return ResultUnknown
	}
	return NotCalled
}

func (r *test) testNamed(ctx context.Context, ref object.Ref) error {
	m, live, err := r.sendPatch(ctx, ref)
	switch {
	case errors.Is(err, errUnlabelled) || errors.Is(err, errDeleting):
		r.set(NoObject, Unsuitable, err.Error())
		return nil
	case err != nil:
		return err
	}
	r.setMutating(ref, live, m)
	if m.Answer == LabelRemoved || m.Answer == ValidatingAnswer {
		if exclusions := r.exclusions(ctx, r.scope, live); exclusions != nil {
			r.set(NotCalled, Excluded, exclusions...)
		} else {
			r.findRelease(ctx)
		}
	}
	return nil
}

// findRelease looks for the release that desires the object. The mutating handler ignores an object that no release desires, or only the agent's
// own release.
func (r *test) findRelease(ctx context.Context) {
	agent := ""
	var records records
	for d := range r.desired(ctx, &records) {
		switch {
		case d.Key() != r.doc.Object.Key():
		case fleet.IsAgentBundle(d.bundle):
			agent = d.bundle // another release may desire it too
		default:
			r.doc.Release, r.doc.BundleDeployment = d.release, d.bundle
			return
		}
	}
	switch {
	case records.reason() != "":
		r.set(ResultUnknown, RecordsUnread, "the label was not restored, but whether a bundle desires the object is unknown: "+records.reason())
	case agent != "":
		r.set(NoObject, NotDesired, "only the bundle "+agent+" of Fleet's agent itself desires the object, and the webhook ignores its objects")
	default:
		r.set(NoObject, NotDesired, "no release desires the object, and the webhook ignores such objects")
	}
}

// testAny tests with the first object for which the API server should call the webhook.
func (r *test) testAny(ctx context.Context) {
	reads, requests := 0, 0
	excluded := map[string]bool{}
	var records records
	for d := range r.desired(ctx, &records) {
		if _, known := excluded[d.Namespace]; !known {
			excluded[d.Namespace] = r.excludedNamespace(ctx, r.scope, d.Namespace) != ""
		}
		if fleet.IsAgentBundle(d.bundle) || excluded[d.Namespace] {
			continue
		}
		if reads++; reads > maxReads || requests == maxRequests {
			break
		}
		m, live, err := r.sendPatch(ctx, d.Ref)
		if err != nil || resultOf(m.Answer) != Works && r.scope.excludes(live) {
			continue // another object may be suitable
		}
		requests++
		r.setMutating(d.Ref, live, m)
		r.doc.Release, r.doc.BundleDeployment = d.release, d.bundle
		if m.Answer != RefusedByOthers {
			break
		}
	}
	switch {
	case r.doc.Mutating != nil:
	case records.reason() != "":
		r.set(ResultUnknown, RecordsUnread, records.reason(), "name an object that a bundle desires: KIND/NAME")
	default:
		r.set(NoObject, NotDesired, "no release of Fleet desires an object that exists, has the label "+TestedLabel+", and is in the scope of the webhook")
	}
}

// explain collects the reasons of a result other than Works.
func (r *test) explain(ctx context.Context) error {
	if r.doc.Result == Works {
		return nil
	}
	namespace, _ := r.Namespace(ctx) // without it, most checks are Unknown
	facts, err := r.Read(ctx, cmp.Or(namespace, Namespace), r.Now())
	if err != nil {
		return err
	}
	wrong, unknown := problems(Evaluate(facts))
	if r.doc.Result == MutatingOnly {
		r.doc.Reasons = append([]Reason{{ValidatingSilent, r.doc.Validating.Message}}, wrong...)
		return nil
	}
	m := r.doc.Mutating
	var out []Reason
	if m.Message != "" && m.Answer != ValidatingAnswer { // that message is not about the mutating handler
		out = append(out, Reason{Refused, m.Message})
	}
	if duration := time.Duration(m.Seconds * float64(time.Second)); r.scope.timeout > 0 && duration >= r.scope.timeout {
		out = append(out, Reason{TimedOut, fmt.Sprintf("the request took %s, and the webhook's timeout is %s: it hangs, or cannot be reached",
			duration.Round(time.Millisecond), r.scope.timeout)})
	}
	out = append(out, wrong...)
	out = append(out, r.countCall(ctx, facts)...)
	if len(out) == 0 {
		out = append(out, Reason{NothingWrong, "no problem was found in the installation; until a webhook has read all release records, it lets requests pass unchanged"})
	}
	if unknown {
		out = append(out, Reason{PartlyUnread, "not everything could be read: see `webhook status`"})
	}
	r.doc.Reasons = out
	return nil
}

// countCall sends the request again, and compares the calls that the API server has counted. It returns nothing if they are unknown. With several
// API servers, one may answer the request and another one the question for its counters.
func (r *test) countCall(ctx context.Context, before *Facts) []Reason {
	if before.CallsReason != "" {
		return nil
	}
	if _, _, err := r.sendPatch(ctx, *r.doc.Object); err != nil {
		return nil
	}
	calls, err := r.Calls(ctx)
	if err != nil {
		return nil
	}
	old, now := before.Calls[StampWebhook], calls[StampWebhook]
	switch {
	case now.FailedOpen+now.Failed > old.FailedOpen+old.Failed:
		return []Reason{{CallFailed, "the API server called the webhook, and got no usable answer"}}
	case now.Total > old.Total:
		return []Reason{{CallPassed, "the API server called the webhook, which let the request pass unchanged: until it has read all release records it does so for every request"}}
	}
	return []Reason{{NotCounted, "the API server did not count a call for this request; if there are several, another one may have"}}
}

// problems returns the problems of an installation, and whether a part of it is unknown. Counters of calls and labels of Namespaces do not
// show whether a webhook answers now.
func problems(s *Status) (wrong []Reason, unknown bool) {
	for _, c := range s.Checks {
		if c.Name == "calls" || c.Name == "namespaces" {
			continue
		}
		unknown = unknown || c.State == Unknown
		if c.State == Wrong && c.Details == nil {
			wrong = append(wrong, Reason{InstallationWrong, c.Name + ": " + c.Message})
		}
		for _, text := range c.Details {
			if c.State == Wrong {
				wrong = append(wrong, Reason{InstallationWrong, c.Name + ": " + text})
			}
		}
	}
	return wrong, unknown
}
