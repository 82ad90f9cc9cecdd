// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
)

// maxReads and maxTests limit a test: objects read, and objects tested with.
const maxReads, maxTests = 1000, 20

// Test sends server-side dry runs, and shows what the responses show: one removes Fleet's set hash from an object that
// a release of Fleet desires, one deletes the object, and one creates an object that does not exist. Nothing is
// changed. Without a webhook configuration it sends none, and returns nil. The error is one of the context.
func (t *Tester) Test(ctx context.Context) (*Test, error) {
	mutating, validating := t.configuration(install.MutatingKind), t.configuration(install.ValidatingKind)
	unread := cmp.Or(mutating.Reason, validating.Reason)
	t.doc = &Test{}
	switch {
	case mutating.Object != nil || validating.Object != nil:
		t.test(ctx)
	case unread != "":
		t.set(ResultUnknown, "no request was sent: whether webhook configurations exist is unknown ("+unread+")")
	default:
		return nil, ctx.Err()
	}
	return t.doc, ctx.Err()
}

func (t *Tester) set(result Result, message string) { t.doc.Result, t.doc.Message = result, message }

// test tests with desired objects until the mutating handler answers. The first one that does not exist is created.
func (t *Tester) test(ctx context.Context) {
	reads, tests := 0, 0
	for d := range t.desired(ctx) {
		if tests == maxTests {
			break
		}
		if reads++; reads > maxReads {
			t.unread = fmt.Errorf("the first %d objects that releases desire cannot be used for a test", maxReads)
			break
		}
		live, isUsable := t.usable(ctx, d.content)
		switch {
		case !isUsable:
		case live == nil:
			t.doc.Create = t.create(ctx, d.content, d.release)
		default:
			tests++
			t.doc.Strip, t.doc.Delete = t.strip(ctx, live), t.remove(ctx, live)
			t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
		}
		if t.doc.Strip != nil && t.doc.Strip.answered() {
			break
		}
	}
	switch {
	case t.doc.Strip != nil:
		t.set(t.result())
	case t.unread != nil:
		t.set(ResultUnknown, t.unread.Error())
	default:
		t.set(NoObject, "no release of Fleet desires an object that exists, has the label "+TestedLabel+
			", and for which the webhook is called (it is not called if the object or its namespace has the label "+
			"fleetdoctor.io/ignore)")
	}
}

// usable reads a desired object, and reports whether it can show that the webhook works. An object that does not exist
// is nil, and is used once, to create it.
func (t *Tester) usable(ctx context.Context, desired *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
	ref := install.RefOf(desired)
	live, err := t.Get(ctx, ref)
	switch {
	case install.ReasonOf(err) != "":
		t.unread = err
		return nil, false
	case err != nil: // the server does not have the kind
		return nil, false
	case live == nil && t.doc.Create != nil, t.excluded(cmp.Or(live, desired)):
		return nil, false
	case live != nil && !isTestable(live):
		return nil, false
	case !t.supportsDryRun(ctx, ref):
		t.unread = fmt.Errorf("whether the API server of %s supports dry runs is unknown: no request was sent",
			ref.Kind)
		return nil, false
	}
	return live, true
}

// isTestable reports whether a request can remove the label from an object, and the webhook is called for it.
func isTestable(live *unstructured.Unstructured) bool {
	return live.GetLabels()[TestedLabel] != "" && live.GetDeletionTimestamp() == nil
}

// excluded reports whether the selectors of the mutating handler exclude an object. The API server calls no webhook for
// a webhook configuration.
func (t *Tester) excluded(o *unstructured.Unstructured) bool {
	if IsConfiguration(o) {
		return true
	}
	for _, w := range webhooksOf(t.configuration(install.MutatingKind).Object) {
		if w.Name != StampWebhook {
			continue
		}
		if !selects(w.ObjectSelector, o.GetLabels()) {
			return true
		}
		isInNamespace := o.GetNamespace() != "" && t.LabelsReason == ""
		return isInNamespace && !selects(w.NamespaceSelector, t.Labels[o.GetNamespace()])
	}
	return false
}

// selects reports whether a selector of the API server, which has validated it, selects labels.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(labels.Set(of))
}

// result returns the result of the responses, and its explanation. It is unknown if data could not be read that can
// explain a missing answer, or if the user may not create the object.
func (t *Tester) result() (Result, string) {
	result, message := resultOf(t.doc.Strip, t.doc.Delete)
	unread := t.LabelsReason // a label can exclude the object, and switch the validating handler off
	if result == MutatingOnly {
		unread = cmp.Or(unread, t.Deployment(Chart).Reason) // its arguments can switch the validating handler off
	}
	switch {
	case result == ResultUnknown:
	case result == Works && t.doc.Create.isForbidden():
		return ResultUnknown, "the creation was refused, and not by this webhook"
	case result != Works && unread != "":
		return ResultUnknown, message + " Whether it is switched off is unknown: Namespaces or the Deployment could " +
			"not be read (" + unread + ")."
	}
	return result, message
}

// resultOf returns the result of the responses about an object, and its explanation.
func resultOf(strip, remove *Response) (Result, string) {
	const silent = "The response to the removal of the label shows no answer of " + StampWebhook +
		". It lets all requests pass until it has read all release records."
	switch {
	case strip.Answer == Refused:
		return ResultUnknown, "the removal of the label was refused, and not by this webhook"
	case !strip.answered() && remove.answered():
		return ValidatingOnly, silent
	case !strip.answered():
		return NotCalled, silent
	case remove.Answer == Refused:
		return ResultUnknown, "the deletion was refused, and not by this webhook"
	case remove.Answer == NotAnswered && strip.Answer != Warned: // it does not warn about an object in doubt
		return MutatingOnly, "The response to the deletion shows no answer of " + GuardWebhook +
			". It lets accounts of Fleet pass."
	}
	return Works, ""
}
