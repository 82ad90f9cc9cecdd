// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Limits of a test without a named object: objects read, and objects tested with.
const (
	maxReads = 1000
	maxTests = 20
)

// Tester tests whether an installed webhook answers. It tests once.
type Tester struct {
	*Cluster
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time

	doc *Test
}

// Test sends server-side dry runs about one object, and shows what the responses show: one removes Fleet's set hash, and
// one deletes the object. Without a named object it uses one that a release of Fleet desires, and also creates one that
// does not exist. Nothing is changed. The error is one of the context, or of reading the named object.
func (t *Tester) Test(ctx context.Context, named *object.Ref) (*Test, error) {
	t.doc = &Test{APIVersion: APIVersion, Kind: TestKind, TakenAt: t.Now().UTC().Format(time.RFC3339)}
	configurations, err := t.Configurations(ctx)
	switch {
	case err == nil && !slices.ContainsFunc(configurations, stamps):
		t.set(NotCalled, NotConfigured, "no webhook configuration with the label "+Selector+" has the webhook "+
			StampWebhook+": the webhook is not installed, or disabled")
		return t.doc, ctx.Err()
	case named != nil:
		err = t.testNamed(ctx, *named)
	default:
		err = nil // without the configurations, the responses still show whether the webhook answers
		t.testAny(ctx)
	}
	return t.doc, cmp.Or(ctx.Err(), err)
}

func stamps(configuration *unstructured.Unstructured) bool {
	for _, w := range webhooksOf(configuration) {
		if w.Name == StampWebhook {
			return true
		}
	}
	return false
}

// set sets the result and its reason.
func (t *Tester) set(result Result, code ReasonCode, message string) {
	t.doc.Result, t.doc.Reasons = result, []Reason{{code, message}}
}

// resultOf maps the answer to the removal of the label, for an object that a release desires, to a result.
var resultOf = map[MutatingAnswer]Result{Restored: Works, Denied: Works, Warned: Works, ValidatingAnswer: ValidatingOnly,
	Passed: NotCalled, NoAnswer: NotCalled, RefusedByOthers: ResultUnknown}

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

// testWith sends both requests about an object, and sets the result.
func (t *Tester) testWith(ctx context.Context, ref object.Ref, live *unstructured.Unstructured) {
	t.doc.Object, t.doc.Mutating, t.doc.Validating = &ref, nil, nil
	if !t.supportsDryRun(ctx, ref) {
		t.set(ResultUnknown, Unsuitable, "it is unknown whether the API server of "+ref.Kind+
			" supports dry runs, so no request was sent")
		return
	}
	m := t.strip(ctx, live)
	v := &Validating{Answer: t.guardOff(ctx, live)}
	if v.Answer == "" {
		v = t.remove(ctx, live)
	}
	if m.Answer == Warned && v.Answer == ValidatingNotCalled {
		v.Answer, v.Message = ValidatingUnknown, "it does not warn about an object that another owner may own"
	}
	t.doc.Mutating, t.doc.Validating = m, v
	t.doc.Result, t.doc.Reasons = combine(resultOf[m.Answer], v.Answer), nil
	switch t.doc.Result {
	case MutatingOnly:
		t.set(MutatingOnly, ValidatingSilent, cmp.Or(v.Message, "the response to the deletion shows no answer of "+GuardWebhook+
			". It lets accounts of Fleet pass. `webhook status` shows whether it is called"))
	case NotCalled, ValidatingOnly:
		t.set(t.doc.Result, NotAnswered, cmp.Or(m.Message, "the response shows no answer of "+StampWebhook+
			". It is not called for objects and namespaces with the label "+admission.IgnoreLabel+
			", and lets all requests pass until it has read all release records. `webhook status` shows whether it is called"))
	case ResultUnknown:
		t.set(ResultUnknown, Refused, "the request was refused, and not by this webhook: "+m.Message)
	}
}

func (t *Tester) testNamed(ctx context.Context, ref object.Ref) error {
	live, err := t.readForTest(ctx, ref)
	switch {
	case errors.Is(err, errUnlabelled) || errors.Is(err, errDeleting):
		t.doc.Object = &ref
		t.set(NoObject, Unsuitable, err.Error())
		return nil
	case err != nil:
		return err
	}
	t.testWith(ctx, ref, live)
	if t.doc.Result == NotCalled || t.doc.Result == ValidatingOnly {
		t.findRelease(ctx)
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
		t.set(ResultUnknown, RecordsUnread, "the label was not restored, but whether a bundle desires the object is unknown: "+
			records.reason())
	case agent != "":
		t.set(NoObject, NotDesired, "only the bundle "+agent+" of Fleet's agent itself desires the object, and the webhook "+
			"ignores its objects")
	default:
		t.set(NoObject, NotDesired, "no release desires the object, and the webhook ignores such objects")
	}
}

// testAny tests with desired objects until the mutating handler answers.
func (t *Tester) testAny(ctx context.Context) {
	var records records
	reads, tests := 0, 0
	for d := range t.desired(ctx, &records) {
		if fleet.IsAgentBundle(d.bundle) {
			continue
		}
		if reads++; reads > maxReads || tests == maxTests || resultOf[t.answer()] == Works {
			break
		}
		live, err := t.readForTest(ctx, d.Ref)
		if apierrors.IsNotFound(err) && t.doc.Create == nil && t.supportsDryRun(ctx, d.Ref) {
			t.doc.Create = t.create(ctx, d)
			t.doc.Create.Object = &d.Ref
		}
		if err != nil {
			continue // another object may be suitable
		}
		tests++
		t.testWith(ctx, d.Ref, live)
		t.doc.Release, t.doc.BundleDeployment = d.release, d.bundle
	}
	switch {
	case t.doc.Mutating != nil:
	case records.reason() != "":
		t.set(ResultUnknown, RecordsUnread, records.reason()+"; name an object that a bundle desires: KIND/NAME")
	default:
		t.set(NoObject, NotDesired, "no release of Fleet desires an object that exists and has the label "+TestedLabel)
	}
}

// answer is the answer to the last removal of the label, "" without one.
func (t *Tester) answer() MutatingAnswer {
	if t.doc.Mutating == nil {
		return ""
	}
	return t.doc.Mutating.Answer
}

// guardOff returns OffForNamespace or OffByDefault if the validating handler is known to be switched off, and "" if not.
func (t *Tester) guardOff(ctx context.Context, live *unstructured.Unstructured) ValidatingResult {
	labels := live.GetLabels() // of the object itself if it is cluster-scoped
	if namespace := live.GetNamespace(); namespace != "" {
		o, err := t.Get(ctx, refTo(namespaceKind, "", namespace))
		if err != nil || o == nil {
			return ""
		}
		labels = o.GetLabels()
	}
	if mode, _ := admission.GuardModeOf(labels, admission.GuardWarn); mode == admission.GuardOff {
		return OffForNamespace
	}
	in, err := t.Find(ctx)
	if err != nil || in.Namespace == "" {
		return ""
	}
	deployment, err := t.Get(ctx, refTo(deploymentKind, in.Namespace, Name))
	if err != nil || deployment == nil {
		return ""
	}
	if mode, _ := admission.GuardModeOf(labels, guardDefault(deployment)); mode == admission.GuardOff {
		return OffByDefault
	}
	return ""
}

// guardDefault is the default mode of the validating handler that the arguments of a Deployment state.
func guardDefault(deployment *unstructured.Unstructured) admission.GuardMode {
	for _, c := range decode[appsv1.Deployment](deployment).Spec.Template.Spec.Containers {
		for _, a := range c.Args {
			if mode, ok := strings.CutPrefix(a, "--guard-default="); ok {
				return admission.GuardMode(mode)
			}
		}
	}
	return admission.GuardWarn
}
