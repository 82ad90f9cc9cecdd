// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// maxReads and maxTests limit a test without a named object: objects read, and objects tested with.
const maxReads, maxTests = 1000, 20

// Test sends server-side dry runs, and shows what the responses show: one removes Fleet's set hash from an object, and
// one deletes the object. Without a named object it uses one that a release of Fleet desires, and also creates one that
// does not exist. Nothing is changed. The error is one of the context, or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	t.doc = &Test{APIVersion: APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}
	configurations, err := t.Configurations(ctx)
	if err == nil && len(configurations) == 0 {
		t.set(NotCalled, "no webhook configuration has the label "+Selector+": it is not installed, or disabled")
		return t.doc, ctx.Err()
	}
	// Without the right to list the configurations, the responses still show whether the webhook answers.
	if named == nil {
		t.testAny(ctx)
		return t.doc, ctx.Err()
	}
	err = t.testWith(ctx, *named)
	if r := t.doc.Strip; err == nil && r != nil && r.Answer == NotAnswered {
		t.findRelease(ctx)
	}
	return t.doc, cmp.Or(ctx.Err(), err)
}

// findRelease looks for the release that desires the tested object. The mutating handler ignores an object that no
// release desires, or only that of Fleet's agent.
func (t *Tester) findRelease(ctx context.Context) {
	var unread error
	for d, err := range t.desired(ctx) {
		if err != nil {
			unread = err
			continue
		}
		if d.Key() == t.doc.Strip.Object.Key() && !fleet.IsAgentBundle(d.bundle) {
			t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
			return
		}
	}
	if unread != nil {
		t.set(ResultUnknown, "it did not answer, and whether a bundle desires the object is unknown: "+unread.Error())
		return
	}
	t.set(NoObject, "no release desires the object, or only that of Fleet's agent: the webhook ignores such objects")
}

func (t *Tester) set(result Result, message string) { t.doc.Result, t.doc.Message = result, message }

// testWith sends both requests about an object, and sets the result. The error is one of reading the object.
func (t *Tester) testWith(ctx context.Context, ref object.Ref) error {
	live, err := t.Get(ctx, ref)
	switch {
	case err != nil:
		return err
	case live == nil:
		kind := ref.GroupVersionKind()
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name)
	case live.GetLabels()[TestedLabel] == "":
		t.set(NoObject, fmt.Sprintf("%s does not have the label %s", ref.Key(), TestedLabel))
	case live.GetDeletionTimestamp() != nil:
		t.set(NoObject, fmt.Sprintf("%s is being deleted, and the webhook is not called for such objects", ref.Key()))
	case !t.supportsDryRun(ctx, ref):
		t.set(ResultUnknown, "whether the API server of "+ref.Kind+" supports dry runs is unknown: no request was sent")
	default:
		t.doc.Strip, t.doc.Delete = t.strip(ctx, live), t.remove(ctx, live)
		t.set(resultOf(t.doc.Strip, t.doc.Delete))
	}
	return nil
}

// resultOf returns the result of both responses, and its explanation. Works requires that the mutating handler answers,
// and that the validating handler is not known to be silent.
func resultOf(strip, remove *Response) (Result, string) {
	const status = "`webhook status` shows whether the API server calls it."
	const silent = "The response to the removal of the label shows no answer of " + StampWebhook +
		". It is not called for objects and namespaces with the label fleetdoctor.io/ignore, and lets all requests " +
		"pass until it has read all release records. " + status
	switch {
	case strip.Answer == Refused:
		return ResultUnknown, "the removal of the label was refused, and not by this webhook"
	case !strip.answered() && remove.answered():
		return ValidatingOnly, silent
	case !strip.answered():
		return NotCalled, silent
	case remove.Answer == NotAnswered && strip.Answer != Warned: // it does not warn about an object in doubt
		return MutatingOnly, "The response to the deletion shows no answer of " + GuardWebhook +
			". It lets accounts of Fleet pass. " + status
	}
	return Works, ""
}

// testAny tests with desired objects until the mutating handler answers. The first one that does not exist is created.
func (t *Tester) testAny(ctx context.Context) {
	var unread error
	reads, tests := 0, 0
	for d, err := range t.desired(ctx) {
		if err != nil {
			unread = err
			continue
		}
		if fleet.IsAgentBundle(d.bundle) {
			continue // the webhook ignores objects of the agent
		}
		if reads++; reads > maxReads || tests == maxTests {
			break
		}
		err := t.testWith(ctx, d.Ref)
		if apierrors.IsNotFound(err) && t.doc.Create == nil && t.supportsDryRun(ctx, d.Ref) {
			t.doc.Create = t.create(ctx, d.content, d.release)
		}
		if err != nil || t.doc.Strip == nil {
			continue
		}
		tests++
		t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
		if t.doc.Strip.answered() {
			break
		}
	}
	switch {
	case t.doc.Strip != nil:
	case unread != nil:
		t.set(ResultUnknown, unread.Error()+"; name an object that a bundle desires: KIND/NAME")
	default:
		t.set(NoObject, "no release of Fleet desires an object that exists and has the label "+TestedLabel)
	}
}
