// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
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

// sendPatch sends a server-side dry run that removes TestedLabel from an object. It returns the response and the live
// object. The error is one of reading the object, errUnlabelled or errDeleting.
func (t *Tester) sendPatch(ctx context.Context, ref object.Ref) (*Mutating, *unstructured.Unstructured, error) {
	r, err := t.Resource(ref.GroupVersionKind(), ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	live, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", ref.Key(), err)
	}
	hash := live.GetLabels()[TestedLabel]
	switch {
	case hash == "":
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errUnlabelled)
	case live.GetDeletionTimestamp() != nil:
		return nil, live, fmt.Errorf("testing with %s: %w", ref.Key(), errDeleting)
	}
	t.Warnings.Take()
	begin := t.Now()
	got, err := r.Patch(ctx, ref.Name, types.MergePatchType, []byte(removeLabel), metav1.PatchOptions{DryRun: DryRunServer.option(), FieldManager: testManager})
	m := &Mutating{Answer: LabelRemoved, Seconds: t.Now().Sub(begin).Seconds(), Warnings: t.Warnings.Take()}
	mutating, validating := warned(m.Warnings)
	switch {
	case err != nil:
		m.Answer, m.Message = refusal(err), err.Error()
		if m.Answer == ValidatingAnswer && mutating {
			m.Answer = Denied
		}
	case got.GetLabels()[TestedLabel] != "":
		m.Answer, m.unchanged = Restored, got.GetLabels()[TestedLabel] == hash
	case mutating:
		m.Answer = Warned
	case validating:
		m.Answer = ValidatingAnswer
	}
	return m, live, nil
}

// refusal returns the handler that refused a request. The API server names the webhook only in its message. A refusal
// of the exact webhook counts as one of the validating handler: the mutating handler is called before both, and let the
// request pass.
func refusal(err error) MutatingAnswer {
	for name, answer := range map[string]MutatingAnswer{StampWebhook: Denied, ExactWebhook: ValidatingAnswer, GuardWebhook: ValidatingAnswer} {
		switch {
		case strings.Contains(err.Error(), `admission webhook "`+name+`" denied the request`):
			return answer
		case strings.Contains(err.Error(), `failed calling webhook "`+name+`"`):
			return NoAnswer
		}
	}
	return RefusedByOthers
}

// testValidating sends a server-side dry run that deletes the object.
func (t *Tester) testValidating(ctx context.Context) *Validating {
	off := t.guardOff(ctx)
	if off == OffForNamespace || off == OffByDefault {
		return &Validating{Answer: off}
	}
	s := t.scopeOf(ctx, validatingKind, GuardWebhook)
	if !s.configured {
		return &Validating{Answer: ValidatingNotCalled, Message: "no webhook configuration with the label " + Selector + " has the webhook " + GuardWebhook}
	}
	if !t.supportsDryRun(ctx, *t.doc.Object) {
		return unknownValidating("it is unknown whether the API server of " + t.doc.Object.Kind + " supports dry runs, so no deletion was sent")
	}
	v := t.sendDelete(ctx)
	if v.Answer != ValidatingNotCalled || v.Message != "" {
		return v
	}
	if reason := t.silenceReason(ctx); reason != "" {
		return unknownValidating(reason)
	}
	if off == ValidatingUnknown {
		return unknownValidating("it did not answer, and whether it is switched off could not be read")
	}
	v.Message = cmp.Or(strings.Join(t.exclusions(ctx, s, t.live), "; "),
		"no warning about the deletion of "+t.doc.Object.Key().String()+": "+GuardWebhook+" was not called, or did not answer")
	return v
}

func unknownValidating(message string) *Validating {
	return &Validating{Answer: ValidatingUnknown, Message: message}
}

// sendDelete sends the deletion. The answer is ValidatingNotCalled without a message if no handler of this webhook
// answered.
func (t *Tester) sendDelete(ctx context.Context) *Validating {
	r, err := t.Resource(t.live.GroupVersionKind(), t.live.GetNamespace())
	if err != nil {
		return unknownValidating(err.Error())
	}
	t.Warnings.Take()
	err = r.Delete(ctx, t.live.GetName(), metav1.DeleteOptions{DryRun: DryRunServer.option(), Preconditions: metav1.NewUIDPreconditions(string(t.live.GetUID()))})
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

// guardOff returns OffForNamespace or OffByDefault if the validating handler is switched off, ValidatingUnknown if that
// could not be read, and "" if the handler is on.
func (t *Tester) guardOff(ctx context.Context) ValidatingResult {
	labels := t.live.GetLabels() // of the object itself if it is cluster-scoped
	if namespace := t.live.GetNamespace(); namespace != "" {
		o, err := t.Get(ctx, refTo(namespaceKind, "", namespace))
		if err != nil || o == nil {
			return ValidatingUnknown
		}
		labels = o.GetLabels()
	}
	if mode, _ := admission.GuardModeOf(labels, admission.GuardWarn); mode == admission.GuardOff {
		return OffForNamespace
	}
	namespace, err := t.Namespace(ctx)
	if err != nil || namespace == "" {
		return ValidatingUnknown
	}
	deployment, err := t.Deployment(ctx, namespace)
	if err != nil || deployment == nil {
		return ValidatingUnknown
	}
	if mode, _ := admission.GuardModeOf(labels, OptionsOf(namespace, deployment).GuardDefault); mode == admission.GuardOff {
		return OffByDefault
	}
	return ""
}

// supportsDryRun reports whether a dry run of a deletion certainly deletes nothing: for kinds that Kubernetes itself
// serves, and for custom resources. An aggregated API server may ignore the option.
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

// silenceReason is the reason why the validating handler may correctly not answer, "" if it should have answered. It
// warns users other than Fleet, and only about an object with the set hash of a release that desires it.
func (t *Tester) silenceReason(ctx context.Context) string {
	if m := t.doc.Mutating; m.Answer == Warned || m.Answer == Restored && !m.unchanged {
		return "it does not warn about an object whose " + TestedLabel + " is not that of the release that desires it"
	}
	user, err := t.user(ctx)
	if err != nil {
		return "it did not answer, and whether it lets this user pass could not be read: " + err.Error()
	}
	account, isAccount := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, account, ok := strings.Cut(account, ":")
	if !isAccount || !ok {
		return ""
	}
	var records records
	for d := range t.desired(ctx, &records) {
		if d.Key() == t.doc.Object.Key() && d.agentNamespace == namespace && slices.Contains([]string{d.serviceAccount, fleet.AgentName, fleet.DefaultAccount}, account) {
			return "it lets " + user + " pass, because Fleet deploys the object with this account"
		}
	}
	if records.err != nil {
		return "it did not answer, and whether Fleet deploys the object as " + user + " could not be read: " + records.err.Error()
	}
	return ""
}

// user returns the name under which the API server knows the user of this program.
func (t *Tester) user(ctx context.Context) (string, error) {
	r, err := t.Resource(userKind, "")
	if err != nil {
		return "", err
	}
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(userKind)
	got, err := r.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if name := decode[authenticationv1.SelfSubjectReview](got).Status.UserInfo.Username; name != "" {
		return name, nil
	}
	return "", errors.New("the API server does not return a user name")
}
