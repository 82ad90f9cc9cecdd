// SPDX-License-Identifier: Apache-2.0

// Package installation has what is special in the installation of the admission webhook: its webhook configurations,
// its status, and the test whether it answers. It prints nothing.
package installation

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/admission"
)

// Result is the result of a self-test.
type Result string

// The results.
const (
	Works         Result = "Works"
	NotCalled     Result = "NotCalled" // the mutating handler did not answer
	NoObject      Result = "NoObject"  // there is no object to test with
	ResultUnknown Result = "Unknown"   // the response does not show it
)

// Answer is what the response to the request shows of the mutating handler.
type Answer string

// The answers.
const (
	Restored    Answer = "Restored"    // the handler added the set hash
	Denied      Answer = "Denied"      // the handler denied the request
	Warned      Answer = "Warned"      // the handler warned, and changed nothing
	NotAnswered Answer = "NotAnswered" // the response shows nothing of the handler
	Refused     Answer = "Refused"     // the request was refused, and not by this webhook
)

// Test is the result of a self-test.
type Test struct {
	// Result is Works, NotCalled, NoObject or Unknown.
	Result Result `json:"result"`
	// Message explains a result other than Works.
	Message string `json:"message,omitempty"`
	// Release is the Helm release ("namespace/name") of the object, absent without one.
	Release string `json:"release,omitempty"`
	// Strip is the response to a dry run that removes the label objectset.rio.cattle.io/hash, absent if none was sent.
	Strip *Response `json:"strip,omitempty"`
}

// Response is the response to one request.
type Response struct {
	Object object.Ref `json:"object"`
	// Answer is Restored, Denied, Warned, NotAnswered or Refused.
	Answer Answer `json:"answer"`
	// Message is the message of a refusal.
	Message  string              `json:"message,omitempty"`
	Warnings []admission.Warning `json:"warnings,omitempty"`
	// Seconds is the duration of the request.
	Seconds float64 `json:"seconds"`
}

// Tester tests whether an installed webhook answers. It tests once.
type Tester struct {
	*install.Cluster
	// Mutating and Validating are the webhook configurations.
	Mutating, Validating install.Reading
	// Warnings are those of the Cluster's client.
	Warnings *Warnings
	Now      func() time.Time

	unread error // the last reason why an object was not used
}

const (
	// testManager is the field manager of the test. The webhook ignores requests of adopt's field manager.
	testManager = "fleetdoctor-webhook-test"
	// TestedLabel is the label that the request removes: Fleet's set hash.
	TestedLabel = fleet.HashLabel
	removeLabel = `{"metadata":{"labels":{"` + TestedLabel + `":null}}}`
	// maxObjects and maxTests limit a test: objects that are considered, and objects that are tested with.
	maxObjects, maxTests = 1000, 20
)

// testedKinds are the kinds of the objects that are tested with. Kubernetes itself serves them, so a dry run certainly
// changes nothing: an aggregated API server may ignore the option.
var testedKinds = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	install.DeploymentKind, appsv1.SchemeGroupVersion.WithKind("StatefulSet")}

// Test sends a server-side dry run that removes Fleet's set hash from an object of a release of Fleet, and shows what
// the response shows of the mutating handler. Nothing is changed. It tries further objects until the handler answers.
// Without a webhook configuration it sends none, and returns nil.
func (t *Tester) Test(ctx context.Context) *Test {
	out := &Test{Result: ResultUnknown}
	unread := cmp.Or(t.Mutating.Reason, t.Validating.Reason)
	isConfigured := t.Mutating.Object != nil || t.Validating.Object != nil
	switch {
	case isConfigured:
		t.test(ctx, out)
	case unread != "":
		out.Message = "no request was sent: whether webhook configurations exist is unknown (" + unread + ")"
	default:
		return nil
	}
	return out
}

func (t *Tester) test(ctx context.Context, out *Test) {
	tests := 0
	for live := range t.labeled(ctx) {
		if !t.isUsable(ctx, live) {
			continue
		}
		out.Strip, out.Release = t.strip(ctx, live), releaseOf(live)
		out.Result, out.Message = resultOf(out.Strip.Answer)
		if tests++; tests == maxTests || out.Result == Works {
			return
		}
	}
	switch {
	case out.Strip != nil:
	case t.unread != nil:
		out.Message = t.unread.Error()
	default:
		out.Result = NoObject
		out.Message = "no release of Fleet has a ConfigMap, Service, ServiceAccount, Deployment or StatefulSet that " +
			"exists, has the label " + TestedLabel + ", and for which the webhook is called (it is not called if the " +
			"object or its namespace has the label " + admission.IgnoreLabel + ")"
	}
}

// labeled returns objects with TestedLabel. It sets unread if not all of them could be read.
func (t *Tester) labeled(ctx context.Context) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		objects := 0
		for _, kind := range testedKinds {
			byLabel := metav1.ListOptions{LabelSelector: TestedLabel}
			for live, err := range t.List(ctx, kind, metav1.NamespaceAll, byLabel) {
				if err != nil {
					t.unread = err
					break
				}
				if objects++; objects > maxObjects {
					t.unread = fmt.Errorf("the first %d objects with the label %s cannot be used for a test",
						maxObjects,
						TestedLabel)
					return
				}
				if !yield(live) {
					return
				}
			}
		}
	}
}

// resultOf returns the result of an answer, and its explanation.
func resultOf(a Answer) (Result, string) {
	switch a {
	case Refused:
		return ResultUnknown, "the removal of the label was refused, and not by this webhook"
	case NotAnswered:
		return NotCalled, "The response to the removal of the label shows no answer of " + StampWebhook +
			". It lets all requests pass until it has read all release records. The log of the pods says what is wrong."
	}
	return Works, ""
}

// isUsable reports whether the webhook is called for a request about an object, and its release is deployed.
func (t *Tester) isUsable(ctx context.Context, live *unstructured.Unstructured) bool {
	namespace, name, _ := strings.Cut(releaseOf(live), "/")
	isFleets := name != "" && !fleet.IsAgentBundle(name) // the webhook ignores the objects of agents
	if !isFleets || live.GetDeletionTimestamp() != nil {
		return false
	}
	if t.isExcluded(ctx, live) {
		return false
	}
	deployed := metav1.ListOptions{LabelSelector: "owner=helm,status=deployed,name=" + name}
	for _, err := range t.List(ctx, install.SecretKind, namespace, deployed) {
		if err == nil {
			return true
		}
		t.unread = err
	}
	return false
}

// releaseOf returns the release ("namespace/name") that Helm's annotations on an object name.
func releaseOf(live *unstructured.Unstructured) string {
	a := live.GetAnnotations()
	return strings.Trim(a[fleet.ReleaseNamespaceAnnotation]+"/"+a[fleet.ReleaseNameAnnotation], "/")
}

// isExcluded reports whether the selectors of the mutating handler exclude an object, or may exclude it because its
// Namespace could not be read.
func (t *Tester) isExcluded(ctx context.Context, live *unstructured.Unstructured) bool {
	namespace, err := t.Get(ctx, install.NamespaceKind, "", live.GetNamespace())
	if err != nil {
		t.unread = err
	}
	if namespace == nil {
		return true
	}
	for _, w := range webhooksOf(t.Mutating.Object) {
		if w.Name == StampWebhook {
			return !selects(w.ObjectSelector, live) || !selects(w.NamespaceSelector, namespace)
		}
	}
	return false
}

// selects reports whether a selector of the API server, which has validated it, selects an object.
func selects(s *metav1.LabelSelector, o *unstructured.Unstructured) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(labels.Set(o.GetLabels()))
}

// strip sends a dry run that removes TestedLabel from an object.
func (t *Tester) strip(ctx context.Context, live *unstructured.Unstructured) *Response {
	t.Warnings.take()
	begin := t.Now()
	got, err := t.Resource(live.GroupVersionKind(), live.GetNamespace()).Patch(ctx, live.GetName(),
		types.MergePatchType,
		[]byte(removeLabel), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: testManager})
	out := &Response{Object: install.RefOf(live), Message: install.ReasonOf(err), Warnings: t.Warnings.take(),
		Seconds: t.Now().Sub(begin).Seconds()}
	out.Answer = answerOf(got, out.Message, out.Warnings)
	return out
}

// answerOf returns the answer of the mutating handler. The API server names webhooks only in its message.
func answerOf(got *unstructured.Unstructured, message string, warnings []admission.Warning) Answer {
	isFromHandler := func(w admission.Warning) bool { return slices.Contains(admission.MutatingCodes(), w.Code) }
	isFromWebhook := func(name string) bool { return strings.Contains(message, `webhook "`+name+`"`) }
	switch {
	case strings.Contains(message, `admission webhook "`+StampWebhook+`" denied the request`):
		return Denied
	case got != nil && got.GetLabels()[TestedLabel] != "":
		return Restored
	case slices.ContainsFunc(warnings, isFromHandler):
		return Warned
	case message == "", slices.ContainsFunc([]string{StampWebhook, ExactWebhook, GuardWebhook}, isFromWebhook):
		return NotAnswered // it did not answer, or another one of the installation was called later
	}
	return Refused
}

// Warnings collects the warnings of an API server. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	mu  sync.Mutex
	all []admission.Warning
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *Warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" { // the only code that the API uses
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, admission.ParseWarning(text))
}

// take returns the collected warnings and removes them.
func (w *Warnings) take() []admission.Warning {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.all
	w.all = nil
	return out
}

// describe describes the response for people, nothing if no request was sent.
func (t *Test) describe() []string {
	r := t.Strip
	if r == nil {
		return nil
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	text := fmt.Sprintf("a dry run that removes %s from %s: %s (in %s): %s", TestedLabel, r.Object.Key(), r.Answer,
		took,
		r.Message)
	out := []string{strings.TrimSuffix(text, ": ")}
	for _, w := range r.Warnings {
		out = append(out, "its warning: "+strings.TrimPrefix(string(w.Code)+": "+w.Message, ": "))
	}
	return append(out, "object of release "+t.Release)
}

// The names that objects of an installation share.
const (
	Name       = "fleetdoctor-webhook"
	Selector   = install.NameLabel + "=" + Name
	SecretName = Name + "-cert"
)

// The webhooks of the configurations.
const (
	StampWebhook = "stamp.fleetdoctor.io"
	ExactWebhook = "stamp-exact.fleetdoctor.io"
	GuardWebhook = "guard.fleetdoctor.io"
)

// Chart is the chart of the webhook. Its configurations are removed before the Deployment that answers their calls, and
// cert-manager's Certificates before their Secrets.
var Chart = install.Chart{
	Dir: "webhook", Name: Name,
	Kinds: []schema.GroupVersionKind{
		install.PodMonitorKind, install.MutatingKind, install.ValidatingKind, install.DeploymentKind,
		corev1.SchemeGroupVersion.WithKind("Service"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
		install.RoleBindingKind, rbacv1.SchemeGroupVersion.WithKind("Role"),
		install.ClusterRoleBindingKind, install.ClusterRoleKind,
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Issuer"},
		install.SecretKind, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	},
	Names: []string{Name, Name + "-records", Name + "-certificates", SecretName, Name + "-ca", Name + "-selfsigned",
		Name + "-seen"},
}

// Certificates is the component that makes the webhook's certificate.
type Certificates string

// The values of Certificates.
const (
	SelfSigned  Certificates = "self-signed"
	CertManager Certificates = "cert-manager"
)

// Values are the values of the chart. A zero value keeps the value of the chart.
type Values struct {
	install.Common `json:",inline"`
	Certificates   Certificates `json:"certificates,omitempty"`
	// Exact adds the webhook that also stamps objects without ownership metadata, in namespaces with a label for it.
	Exact        bool                `json:"exact,omitempty"`
	GuardDefault admission.GuardMode `json:"guardDefault,omitempty"`
	// Record selects the requests that are written down.
	Record admission.RecordMode `json:"record,omitempty"`
	// ReleaseNamespaces are the only namespaces whose Secrets the webhook may read; none means all.
	ReleaseNamespaces []string `json:"releaseNamespaces,omitempty"`
}

// webhooksOf returns the webhooks of a configuration, mutating or validating. Objects of other kinds have none.
func webhooksOf(o *unstructured.Unstructured) []admissionregistrationv1.ValidatingWebhook {
	return install.Decode[admissionregistrationv1.ValidatingWebhookConfiguration](o).Webhooks
}
