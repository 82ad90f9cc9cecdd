// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// maxReads and maxTests limit a test without a named object: objects read, and objects tested with.
const maxReads, maxTests = 1000, 20

// Test sends server-side dry runs, and shows what the responses show: one removes Fleet's set hash from an object, and
// one deletes the object. Without a named object it uses one that a release of Fleet desires, and also creates one that
// does not exist. Nothing is changed. The error is one of the context, or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	t.doc = &Test{APIVersion: install.APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}
	var err error
	configurations, unlisted := Configurations(ctx, t.Cluster)
	switch {
	case unlisted == nil && len(configurations) == 0:
		t.set(NotCalled, "no webhook configuration has the label "+Selector+": it is not installed, or disabled")
	// Without the right to list the configurations, the responses still show whether the webhook answers.
	case named == nil:
		t.testAny(ctx)
	default:
		err = t.testNamed(ctx, *named)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return t.doc, err
}

func (t *Tester) set(result Result, message string) { t.doc.Result, t.doc.Message = result, message }

// testNamed tests with one object. If the mutating handler does not answer, it looks for the release that desires the
// object: the handler ignores an object that no release desires, or only that of Fleet's agent.
func (t *Tester) testNamed(ctx context.Context, ref object.Ref) error {
	live, err := t.usable(ctx, ref)
	if live == nil {
		return err
	}
	if t.testWith(ctx, live); t.doc.Strip.Answer != NotAnswered {
		return nil
	}
	for d := range t.desired(ctx) {
		if install.RefOf(d.content).Key() == ref.Key() {
			t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
			return nil
		}
	}
	if t.unread != nil {
		t.set(ResultUnknown, "it did not answer, and whether a bundle desires the object is unknown: "+t.unread.Error())
		return nil
	}
	t.set(NoObject, "no release desires the object, or only that of Fleet's agent: the webhook ignores such objects")
	return nil
}

// testAny tests with desired objects until the mutating handler answers. The first one that does not exist is created.
func (t *Tester) testAny(ctx context.Context) {
	reads, tests := 0, 0
	for d := range t.desired(ctx) {
		if reads++; reads > maxReads || tests == maxTests {
			break
		}
		live, err := t.usable(ctx, install.RefOf(d.content))
		if apierrors.IsNotFound(err) && t.doc.Create == nil && t.supportsDryRun(ctx, install.RefOf(d.content)) {
			t.doc.Create = t.create(ctx, d.content, d.release)
		}
		if live == nil {
			continue
		}
		tests++
		t.testWith(ctx, live)
		if t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle; t.doc.Strip.answered() {
			break
		}
	}
	switch {
	case t.doc.Strip != nil:
		t.set(resultOf(t.doc.Strip, t.doc.Delete)) // the last object may have been unusable
	case t.unread != nil:
		t.set(ResultUnknown, t.unread.Error()+"; name an object that a bundle desires: KIND/NAME")
	default:
		t.set(NoObject, "no release of Fleet desires an object that exists and has the label "+TestedLabel)
	}
}

// usable reads an object to test with. If the object cannot show whether the webhook works, it sets the result, and
// returns nil.
func (t *Tester) usable(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	live, err := t.Get(ctx, ref)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		kind := ref.GroupVersionKind()
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name)
	case live.GetLabels()[TestedLabel] == "":
		t.set(NoObject, fmt.Sprintf("%s does not have the label %s", ref.Key(), TestedLabel))
	case live.GetDeletionTimestamp() != nil:
		t.set(NoObject, fmt.Sprintf("%s is being deleted, and the webhook is not called for such objects", ref.Key()))
	case !t.supportsDryRun(ctx, ref):
		t.set(ResultUnknown, "whether the API server of "+ref.Kind+" supports dry runs is unknown: no request was sent")
	default:
		return live, nil
	}
	return nil, nil
}

// testWith sends both requests about an object, and sets the result.
func (t *Tester) testWith(ctx context.Context, live *unstructured.Unstructured) {
	t.doc.Strip, t.doc.Delete = t.strip(ctx, live), t.remove(ctx, live)
	t.set(resultOf(t.doc.Strip, t.doc.Delete))
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
