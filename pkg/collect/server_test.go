// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// answering is a server that answers each dry run in the same way.
type answering struct {
	warnings []string
	err      error
}

func (s answering) KindOf(context.Context, schema.GroupVersionKind) (source.Kind, error) {
	return source.Kind{Resource: "configmaps"}, nil
}

func (s answering) MayApply(context.Context, source.Kind, string, string) (bool, error) {
	return true, nil
}

func (s answering) Get(context.Context, source.Kind, object.Ref) (object.Content, error) {
	return nil, s.err
}

func (s answering) DryRunApply(context.Context, source.Kind, object.Ref, []byte, source.Apply) (object.Content,
	[]string, error) {
	return nil, s.warnings, s.err
}

// TestTry checks what a dry run says about the next deploy. The words of a server in an error of which nothing is
// known, and those of the server of a webhook, are not shown.
func TestTry(t *testing.T) {
	invalid := schema.GroupKind{Kind: "ConfigMap"}
	status := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: reason, Message: message}}
	}
	failed := func(text string) error { return apierrors.NewInternalError(errors.New(text)) }
	for _, tc := range []struct {
		err  error
		want evaluate.Trial
	}{
		{nil, evaluate.Trial{Accepted: true}},
		{failed(`failed calling webhook "check.example.com": failed to call webhook: hunter2`),
			evaluate.Trial{Refusal: `failed calling webhook "check.example.com"`}},
		{failed(`failed calling webhook "hunter2 is the password"`),
			evaluate.Trial{NotAsked: "the request failed: it answers with status 500"}},
		{failed("hunter2"), evaluate.Trial{NotAsked: "the request failed: it answers with status 500"}},
		{status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "hunter2"),
			evaluate.Trial{NotAsked: "the request failed: it answers with status 503"}},
		{status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
			`failed calling webhook "check.example.com": hunter2`),
			evaluate.Trial{NotAsked: "the request failed: it answers with status 503"}},
		{failed("failed to create typed patch object: .data"),
			evaluate.Trial{Refusal: "Internal error occurred: failed to create typed patch object: .data"}},
		{apierrors.NewInvalid(invalid, "a", nil), evaluate.Trial{Refusal: `ConfigMap "a" is invalid`}},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
			errors.New(`User "u" cannot create`)), evaluate.Trial{NotAsked: "you may not create the object"}},
		{apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("exceeded quota")),
			evaluate.Trial{Refusal: `configmaps "a" is forbidden: exceeded quota`}},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"),
			evaluate.Trial{NotAsked: "its namespace does not exist yet"}},
		{apierrors.NewBadRequest("admission webhook does not support dry run: hunter2"),
			evaluate.Trial{NotAsked: "an admission webhook does not support dry runs"}},
		{errors.New("connection refused"), evaluate.Trial{NotAsked: "the request failed: connection refused"}},
	} {
		if got := trial(t, answering{err: tc.err}); got != tc.want {
			t.Errorf("%v: got %+v, want %+v", tc.err, got, tc.want)
		}
	}
}

// TestTryWarnings checks that the warnings of a server are kept, to a limit.
func TestTryWarnings(t *testing.T) {
	if got := trial(t, answering{warnings: []string{"deprecated", "would violate"}}); got.Warnings !=
		"deprecated; would violate" {
		t.Errorf("got %+v", got)
	}
	long := trial(t, answering{warnings: []string{strings.Repeat("é", maxWarnings)}}).Warnings
	if len(long) > maxWarnings+len("… (shortened)") || !strings.HasSuffix(long, "é… (shortened)") {
		t.Errorf("%d bytes of warnings", len(long))
	}
}

func trial(t *testing.T, s answering) evaluate.Trial {
	t.Helper()
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}
	raw := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	d := &evaluate.BundleDeployment{Objects: []evaluate.Object{{Ref: ref, State: evaluate.Missing}},
		BundleDeployment: &desired.BundleDeployment{Desired: []*desired.Object{{}}}}
	d.Desired[0].Ref, d.Desired[0].Raw = ref, raw
	q := asking{server: s, allowed: map[string]func() (bool, error){}}
	return q.try(t.Context(), evaluate.Trials([]*evaluate.BundleDeployment{d})[0])
}

// TestRefusal checks that the reason why a server does not confirm a difference has no words of the server.
func TestRefusal(t *testing.T) {
	for _, err := range []error{
		apierrors.NewInternalError(errors.New("hunter2")),
		apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("hunter2")),
		apierrors.NewBadRequest("dry run: hunter2"),
		apierrors.NewBadRequest("hunter2"),
		apierrors.NewNotFound(schema.GroupResource{Resource: "hunter2"}, "a"),
		&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Message: "hunter2",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "data", Message: "hunter2"}}}}},
	} {
		if got := refusal(err); got == "" || strings.Contains(got, "hunter2") {
			t.Errorf("%v: got %q", err, got)
		}
	}
}
