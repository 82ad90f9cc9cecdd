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
	Reader
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time
}

// test is a Test in the making.
type test struct {
	*Tester
	doc   *Test
	scope scope
	live  *unstructured.Unstructured
}

// Test sends a server-side dry run that removes Fleet's set hash from an object, and one that deletes the object, and evaluates the responses.
// Nothing is changed. Without a named object it takes the first suitable one that a release of Fleet desires. The error is one of the context,
// or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	r := &test{Tester: t, scope: t.scopeOf(ctx, mutatingKind, StampWebhook),
		doc: &Test{APIVersion: APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}}
	if !r.scope.configured {
		r.set(NotCalled, NotConfigured, "no webhook configuration with the label "+Selector+" has the webhook "+StampWebhook+": the webhook is not installed, or disabled")
		return r.doc, nil
	}
	var err error
	if named != nil {
		err = r.testNamed(ctx, *named)
	} else {
		err = r.testAny(ctx)
	}
	if err != nil {
		return nil, err
	}
	if r.doc.Result == Works || r.doc.Reasons == nil && (r.doc.Result == NotCalled || r.doc.Result == ValidatingOnly) {
		r.doc.Validating = t.testValidating(ctx, *r.doc.Object, r.live, r.doc.Mutating)
		r.doc.Result = combine(r.doc.Result, r.doc.Validating.Answer)
		err = r.explain(ctx)
	}
	return r.doc, errors.Join(err, ctx.Err())
}

// set sets the result, with one reason for each message.
func (r *test) set(result Result, code ReasonCode, messages ...string) {
	r.doc.Result, r.doc.Reasons = result, nil
	for _, m := range messages {
		r.doc.Reasons = append(r.doc.Reasons, Reason{code, m})
	}
}

// combine returns the result of both requests: Works needs the mutating handler, and a validating handler that is not known to be silent.
func combine(r Result, v ValidatingResult) Result {
	switch {
	case r == Works && v == ValidatingNotCalled:
		return MutatingOnly
	case r == NotCalled && (v == ValidatingWarned || v == ValidatingDenied):
		return ValidatingOnly
	}
	return r
}

// take takes over the response about an object.
func (r *test) take(ref object.Ref, live *unstructured.Unstructured, m *Mutating) {
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
	if r.take(ref, live, m); m.Answer != LabelRemoved && m.Answer != ValidatingAnswer {
		return nil
	}
	if why := r.exclusions(ctx, r.scope, live); why != nil {
		r.set(NotCalled, Excluded, why...)
		return nil
	}
	return r.findRelease(ctx)
}

// findRelease looks for the release that desires the object. The mutating handler ignores objects that no release desires, or only the agent's
// own release.
func (r *test) findRelease(ctx context.Context) error {
	agent := ""
	undecoded, err := r.desired(ctx, func(d desiredObject) error {
		switch {
		case d.Key() != r.doc.Object.Key():
			return nil
		case fleet.IsAgentBundle(d.bundle):
			agent = d.bundle
			return nil // another release may desire it too
		}
		r.doc.Release, r.doc.BundleDeployment = d.release, d.bundle
		return errEnough
	})
	const unknown = "the label was not restored, but whether a bundle desires the object is unknown: "
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.doc.Release != "":
	case err != nil:
		r.set(ResultUnknown, RecordsUnread, unknown+err.Error())
	case undecoded > 0:
		r.set(ResultUnknown, RecordsUnread, unknown+count(undecoded, "release record")+" could not be decoded")
	case agent != "":
		r.set(NoObject, NotDesired, "only the bundle "+agent+" of Fleet's agent itself desires the object, and the webhook ignores its objects")
	default:
		r.set(NoObject, NotDesired, "no release desires the object, and the webhook ignores such objects")
	}
	return nil
}

// testAny tests with the first object for which the webhook should be called.
func (r *test) testAny(ctx context.Context) error {
	reads, requests := 0, 0
	excluded := map[string]bool{}
	undecoded, err := r.desired(ctx, func(d desiredObject) error {
		if _, known := excluded[d.Namespace]; !known {
			excluded[d.Namespace] = r.excludedNamespace(ctx, r.scope, d.Namespace) != ""
		}
		if fleet.IsAgentBundle(d.bundle) || excluded[d.Namespace] {
			return ctx.Err()
		}
		if reads++; reads > maxReads || requests == maxRequests {
			return errEnough
		}
		m, live, err := r.sendPatch(ctx, d.Ref)
		if err != nil || resultOf(m.Answer) != Works && r.scope.excludes(live) {
			return ctx.Err() // another object may be suitable
		}
		requests++
		r.take(d.Ref, live, m)
		r.doc.Release, r.doc.BundleDeployment = d.release, d.bundle
		if m.Answer == RefusedByOthers {
			return ctx.Err()
		}
		return errEnough
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.doc.Mutating != nil:
	case err != nil:
		r.set(ResultUnknown, RecordsUnread, err.Error(), "name an object that a bundle desires: KIND/NAME")
	case undecoded > 0:
		r.set(ResultUnknown, RecordsUnread, count(undecoded, "release record")+" could not be decoded, and the others have no suitable object")
	default:
		r.set(NoObject, NotDesired, "no release of Fleet desires an object that exists, has the label "+TestedLabel+", and is in the scope of the webhook")
	}
	return nil
}

// explain collects the reasons of a result other than Works.
func (r *test) explain(ctx context.Context) error {
	if r.doc.Result == Works {
		return nil
	}
	facts, err := r.Read(ctx, cmp.Or(r.namespace(ctx), Namespace), r.Now())
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
	if took := time.Duration(m.Seconds * float64(time.Second)); r.scope.timeout > 0 && took >= r.scope.timeout {
		out = append(out, Reason{TimedOut, fmt.Sprintf("the request took %s, and the webhook's timeout is %s: it hangs, or cannot be reached", took.Round(time.Millisecond), r.scope.timeout)})
	}
	out = append(out, wrong...)
	if counted := r.countCall(ctx, facts); counted.Code != "" {
		out = append(out, counted)
	}
	if len(out) == 0 {
		out = append(out, Reason{NothingWrong, "no problem was found in the installation; until a webhook has read all release records, it lets requests pass unchanged"})
	}
	if unknown {
		out = append(out, Reason{PartlyUnread, "not everything could be read: see `webhook status`"})
	}
	r.doc.Reasons = out
	return nil
}

// countCall sends the request once more, and says what the API server has counted for it, nothing if that is unknown. With several API servers
// the one that was asked for its counters may not be the one that had the request.
func (r *test) countCall(ctx context.Context, before *Facts) Reason {
	if before.CallsReason != "" {
		return Reason{}
	}
	if _, _, err := r.sendPatch(ctx, *r.doc.Object); err != nil {
		return Reason{}
	}
	calls, err := r.Calls(ctx)
	if err != nil {
		return Reason{}
	}
	old, now := before.Calls[StampWebhook], calls[StampWebhook]
	switch {
	case now.FailedOpen+now.Failed > old.FailedOpen+old.Failed:
		return Reason{CallFailed, "the API server called the webhook, and got no usable answer"}
	case now.Total > old.Total:
		return Reason{CallPassed, "the API server called the webhook, which let the request pass unchanged: until it has read all release records it does so for every request"}
	}
	return Reason{NotCounted, "the API server did not count a call for this request; if there are several, another one may have"}
}

// problems returns what is wrong with an installation, and whether something about it is unknown. Counters of calls and labels of Namespaces
// do not tell whether a webhook answers now.
func problems(s *Status) (wrong []Reason, unknown bool) {
	for _, c := range s.Checks {
		if c.Name == "calls" || c.Name == "namespaces" {
			continue
		}
		unknown = unknown || c.State == Unknown
		if c.State != Wrong {
			continue
		}
		if len(c.Details) == 0 {
			wrong = append(wrong, Reason{InstallationWrong, c.Name + ": " + c.Message})
		}
		for _, text := range c.Details {
			wrong = append(wrong, Reason{InstallationWrong, c.Name + ": " + text})
		}
	}
	return wrong, unknown
}

// namespace returns the namespace of the installation, "" if it is unknown.
func (t *Tester) namespace(ctx context.Context) string {
	found, err := t.Cluster.Configurations(ctx)
	if err != nil {
		return ""
	}
	namespace, err := t.Cluster.FindNamespace(ctx, found)
	if err != nil {
		return ""
	}
	return namespace
}
