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

// Tester tests whether an installed webhook answers. It tests once.
type Tester struct {
	*Cluster
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time

	doc   *Test
	scope scope
	live  *unstructured.Unstructured // the object of doc
}

// Test sends a server-side dry run that removes Fleet's set hash from an object, and one that deletes the object, and
// evaluates the responses. Nothing is changed. Without a named object it uses the first suitable one that a release of
// Fleet desires. The error is one of the context, or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	t.scope = t.scopeOf(ctx, mutatingKind, StampWebhook)
	t.doc = &Test{APIVersion: APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}
	var err error
	switch {
	case !t.scope.configured:
		t.set(NotCalled, NotConfigured, "no webhook configuration with the label "+Selector+" has the webhook "+StampWebhook+": the webhook is not installed, or disabled")
	case named != nil:
		err = t.testNamed(ctx, *named)
	default:
		t.testAny(ctx)
	}
	if err == nil && t.doc.Reasons == nil {
		t.doc.Validating = t.testValidating(ctx)
		t.doc.Result = combine(t.doc.Result, t.doc.Validating.Answer)
		err = t.explain(ctx)
	}
	return t.doc, cmp.Or(ctx.Err(), err)
}

// set sets the result, with one reason for each message.
func (t *Tester) set(result Result, code ReasonCode, messages ...string) {
	t.doc.Result, t.doc.Reasons = result, nil
	for _, m := range messages {
		t.doc.Reasons = append(t.doc.Reasons, Reason{code, m})
	}
}

// combine returns the result of both requests. Works requires that the mutating handler answers, and that the
// validating handler is not known to be silent.
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
func (t *Tester) setMutating(ref object.Ref, live *unstructured.Unstructured, m *Mutating) {
	t.doc.Object, t.live, t.doc.Mutating = &ref, live, m
	t.set(resultOf[m.Answer], "")
	if m.Answer == RefusedByOthers {
		t.set(ResultUnknown, Refused, "the request was refused, and not by this webhook: "+m.Message)
	}
}

// resultOf maps the answer to the first request, for an object that a release desires, to a result.
var resultOf = map[MutatingAnswer]Result{Restored: Works, Denied: Works, Warned: Works, ValidatingAnswer: ValidatingOnly, LabelRemoved: NotCalled,
	NoAnswer: NotCalled, RefusedByOthers: ResultUnknown}

func (t *Tester) testNamed(ctx context.Context, ref object.Ref) error {
	m, live, err := t.sendPatch(ctx, ref)
	switch {
	case errors.Is(err, errUnlabelled) || errors.Is(err, errDeleting):
		t.set(NoObject, Unsuitable, err.Error())
		return nil
	case err != nil:
		return err
	}
	t.setMutating(ref, live, m)
	if m.Answer == LabelRemoved || m.Answer == ValidatingAnswer {
		if exclusions := t.exclusions(ctx, t.scope, live); exclusions != nil {
			t.set(NotCalled, Excluded, exclusions...)
		} else {
			t.findRelease(ctx)
		}
	}
	return nil
}

// findRelease looks for the release that desires the object. The mutating handler ignores an object that no release
// desires, or only the agent's own release.
func (t *Tester) findRelease(ctx context.Context) {
	agent := ""
	var records records
	for d := range t.desired(ctx, &records) {
		switch {
		case d.Key() != t.doc.Object.Key():
		case fleet.IsAgentBundle(d.bundle):
			agent = d.bundle // another release may desire it too
		default:
			t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
			return
		}
	}
	switch {
	case records.reason() != "":
		t.set(ResultUnknown, RecordsUnread, "the label was not restored, but whether a bundle desires the object is unknown: "+records.reason())
	case agent != "":
		t.set(NoObject, NotDesired, "only the bundle "+agent+" of Fleet's agent itself desires the object, and the webhook ignores its objects")
	default:
		t.set(NoObject, NotDesired, "no release desires the object, and the webhook ignores such objects")
	}
}

// testAny tests with the first object for which the API server should call the webhook.
func (t *Tester) testAny(ctx context.Context) {
	reads, requests := 0, 0
	excluded := map[string]bool{}
	var records records
	for d := range t.desired(ctx, &records) {
		if _, known := excluded[d.Namespace]; !known {
			excluded[d.Namespace] = t.excludedNamespace(ctx, t.scope, d.Namespace) != ""
		}
		if fleet.IsAgentBundle(d.bundle) || excluded[d.Namespace] {
			continue
		}
		if reads++; reads > maxReads || requests == maxRequests {
			break
		}
		m, live, err := t.sendPatch(ctx, d.Ref)
		if err != nil || resultOf[m.Answer] != Works && t.scope.excludes(live) {
			continue // another object may be suitable
		}
		requests++
		t.setMutating(d.Ref, live, m)
		t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
		if m.Answer != RefusedByOthers {
			break
		}
	}
	switch {
	case t.doc.Mutating != nil:
	case records.reason() != "":
		t.set(ResultUnknown, RecordsUnread, records.reason(), "name an object that a bundle desires: KIND/NAME")
	default:
		t.set(NoObject, NotDesired, "no release of Fleet desires an object that exists, has the label "+TestedLabel+", and is in the scope of the webhook")
	}
}

// explain collects the reasons of a result other than Works.
func (t *Tester) explain(ctx context.Context) error {
	if t.doc.Result == Works {
		return nil
	}
	namespace, _ := t.Namespace(ctx) // without it, most checks are Unknown
	facts, err := t.Read(ctx, cmp.Or(namespace, Namespace), t.Now())
	if err != nil {
		return err
	}
	wrong, unknown := problems(Evaluate(facts))
	if t.doc.Result == MutatingOnly {
		t.doc.Reasons = append([]Reason{{ValidatingSilent, t.doc.Validating.Message}}, wrong...)
		return nil
	}
	m := t.doc.Mutating
	var out []Reason
	if m.Message != "" && m.Answer != ValidatingAnswer { // this message is not about the mutating handler
		out = append(out, Reason{Refused, m.Message})
	}
	if duration := time.Duration(m.Seconds * float64(time.Second)); t.scope.timeout > 0 && duration >= t.scope.timeout {
		out = append(out, Reason{TimedOut, fmt.Sprintf("the request took %s, and the webhook's timeout is %s: it hangs, or cannot be reached",
			duration.Round(time.Millisecond), t.scope.timeout)})
	}
	out = append(out, wrong...)
	out = append(out, t.countCall(ctx, facts)...)
	if len(out) == 0 {
		out = append(out, Reason{NothingWrong, "no problem was found in the installation; until a webhook has read all release records, it lets requests pass unchanged"})
	}
	if unknown {
		out = append(out, Reason{PartlyUnread, "a part of the installation could not be read: see `webhook status`"})
	}
	t.doc.Reasons = out
	return nil
}

// countCall sends the request again, and compares the calls that the API server has counted. It returns nothing if they
// are unknown. With several API servers, one may answer the request and another one the question for its counters.
func (t *Tester) countCall(ctx context.Context, before *Facts) []Reason {
	if before.CallsReason != "" {
		return nil
	}
	if _, _, err := t.sendPatch(ctx, *t.doc.Object); err != nil {
		return nil
	}
	calls, err := t.Calls(ctx)
	if err != nil {
		return nil
	}
	old, now := before.Calls[StampWebhook], calls[StampWebhook]
	switch {
	case now.FailedOpen+now.Failed > old.FailedOpen+old.Failed:
		return []Reason{{CallFailed, "the API server called the webhook, and got no usable answer"}}
	case now.Total > old.Total:
		return []Reason{{CallPassed, "the API server called the webhook, which let the request pass unchanged: every " +
			"request passes until " +
			"the webhook has read all release records"}}
	}
	return []Reason{{NotCounted, "the API server did not count a call for this request; if there are several API " +
		"servers, another one may have counted it"}}
}

// problems returns the problems of an installation, and whether a part of it is unknown. Counters of calls and labels
// of Namespaces do not show whether a webhook answers now.
func problems(s *Status) (wrong []Reason, unknown bool) {
	for _, c := range s.Checks {
		switch {
		case c.Name == "calls" || c.Name == "namespaces":
		case c.State == Unknown:
			unknown = true
		case c.State == Wrong:
			texts := c.Details
			if texts == nil {
				texts = []string{c.Message}
			}
			for _, text := range texts {
				wrong = append(wrong, Reason{InstallationWrong, c.Name + ": " + text})
			}
		}
	}
	return wrong, unknown
}
