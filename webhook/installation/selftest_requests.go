// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// testManager is the field manager of the test. The webhook ignores requests of adopt's field manager.
const testManager = "fleetdoctor-webhook-test"

// TestedLabel is the label that the test removes: Fleet's set hash.
const TestedLabel = fleet.HashLabel

const removeLabel = `{"metadata":{"labels":{"` + TestedLabel + `":null}}}`

// Objects that cannot be tested with.
var (
	errUnlabelled = errors.New("it does not have the label " + TestedLabel)
	errDeleting   = errors.New("it is being deleted, and the webhook is not called for such objects")
)

// readForTest reads an object to test with. The error is one of reading the object, errUnlabelled or errDeleting.
func (t *Tester) readForTest(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	r, err := t.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, err
	}
	live, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	case live.GetLabels()[TestedLabel] == "":
		return nil, fmt.Errorf("testing with %s: %w", ref.Key(), errUnlabelled)
	case live.GetDeletionTimestamp() != nil:
		return nil, fmt.Errorf("testing with %s: %w", ref.Key(), errDeleting)
	}
	return live, nil
}

// create sends a dry run that creates an object without TestedLabel, with the annotations of its release.
func (t *Tester) create(ctx context.Context, d desiredObject) *Mutating {
	r, err := t.Resource(d.GroupVersionKind(), d.Namespace)
	if err != nil {
		return &Mutating{Answer: RefusedByOthers, Message: err.Error()}
	}
	o := d.content.DeepCopy()
	o.SetNamespace(d.Namespace)
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	delete(labels, TestedLabel)
	if annotations == nil {
		annotations = map[string]string{}
	}
	namespace, name, _ := strings.Cut(d.release, "/")
	annotations[fleet.ReleaseNamespaceAnnotation], annotations[fleet.ReleaseNameAnnotation] = namespace, name
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	return t.mutating(func() (*unstructured.Unstructured, error) {
		return r.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: testManager})
	})
}

// strip sends a dry run that removes TestedLabel from an object.
func (t *Tester) strip(ctx context.Context, live *unstructured.Unstructured) *Mutating {
	r, err := t.Resource(live.GroupVersionKind(), live.GetNamespace())
	if err != nil {
		return &Mutating{Answer: RefusedByOthers, Message: err.Error()}
	}
	return t.mutating(func() (*unstructured.Unstructured, error) {
		o := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: testManager}
		return r.Patch(ctx, live.GetName(), types.MergePatchType, []byte(removeLabel), o)
	})
}

// mutating sends a request without TestedLabel and evaluates the response.
func (t *Tester) mutating(send func() (*unstructured.Unstructured, error)) *Mutating {
	t.Warnings.Take()
	begin := t.Now()
	got, err := send()
	m := &Mutating{Answer: Passed, Seconds: t.Now().Sub(begin).Seconds(), Warnings: t.Warnings.Take()}
	mutating, validating := warned(m.Warnings)
	switch {
	case err != nil:
		m.Answer, m.Message = refusal(err), err.Error()
		if m.Answer == ValidatingAnswer && mutating {
			m.Answer = Denied
		}
	case got.GetLabels()[TestedLabel] != "":
		m.Answer = Restored
	case mutating:
		m.Answer = Warned
	case validating:
		m.Answer = ValidatingAnswer
	}
	return m
}

// refusal returns the handler that refused a request. The API server names the webhook only in its message. A refusal
// of the exact webhook counts as one of the validating handler: the mutating handler is called before both, and let the
// request pass.
func refusal(err error) MutatingAnswer {
	for name, answer := range map[string]MutatingAnswer{
		StampWebhook: Denied, ExactWebhook: ValidatingAnswer, GuardWebhook: ValidatingAnswer} {
		switch {
		case strings.Contains(err.Error(), `admission webhook "`+name+`" denied the request`):
			return answer
		case strings.Contains(err.Error(), `failed calling webhook "`+name+`"`):
			return NoAnswer
		}
	}
	return RefusedByOthers
}

// remove sends a dry run that deletes an object.
func (t *Tester) remove(ctx context.Context, live *unstructured.Unstructured) *Validating {
	r, err := t.Resource(live.GroupVersionKind(), live.GetNamespace())
	if err != nil {
		return &Validating{Answer: ValidatingUnknown, Message: err.Error()}
	}
	t.Warnings.Take()
	err = r.Delete(ctx, live.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll},
		Preconditions: metav1.NewUIDPreconditions(string(live.GetUID()))})
	return validatingOf(err, t.Warnings.Take())
}

// validatingOf evaluates the response to a deletion.
func validatingOf(err error, warnings []Warning) *Validating {
	v := &Validating{Answer: ValidatingNotCalled, Warnings: warnings}
	if err != nil {
		v.Message = err.Error()
	}
	_, validating := warned(warnings)
	switch {
	case strings.Contains(v.Message, `admission webhook "`+GuardWebhook+`" denied the request`):
		v.Answer = ValidatingDenied
	case validating:
		v.Answer = ValidatingWarned
	case strings.Contains(v.Message, `failed calling webhook "`+GuardWebhook+`"`):
	case err != nil:
		v.Answer, v.Message = ValidatingUnknown, "the deletion was refused, and not by this webhook: "+v.Message
	}
	return v
}

// supportsDryRun reports whether a dry run certainly changes nothing: for kinds that Kubernetes itself serves, and for
// custom resources. An aggregated API server may ignore the option.
func (t *Tester) supportsDryRun(ctx context.Context, ref object.Ref) bool {
	gv := ref.GroupVersionKind().GroupVersion()
	if scheme.Scheme.IsGroupRegistered(gv.Group) {
		return true
	}
	o, err := t.Get(ctx, refTo(apiServiceKind, "", gv.Version+"."+gv.Group))
	if err != nil || o == nil {
		return false
	}
	service, _, err := unstructured.NestedMap(o.Object, "spec", "service")
	return err == nil && service == nil
}
