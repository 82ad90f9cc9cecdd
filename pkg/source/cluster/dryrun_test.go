// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/cluster"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/transport"
)

var (
	configMap = source.Kind{GroupVersionKind: configMapKind, Resource: "configmaps", Namespaced: true}
	ref       = object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "x", Name: "1"}
)

// checked are the options of the dry runs.
var checked = source.Apply{Manager: "fleetdoctor-check", Force: true}

const refPath = "/api/v1/namespaces/x/configmaps/1"

// recorded sends an answer and stores the body of the request.
func recorded(t *testing.T, body *string, a answer) answer {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("reading a request: %v", err)
		}
		*body = string(b)
		a(w, r)
	}
}

func TestDryRunApply(t *testing.T) {
	t.Parallel()
	const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"1"},"data":{"a":"1"}}`
	var body string
	answered := map[string]any{"metadata": map[string]any{"name": "1", "managedFields": []any{}},
		"data": map[string]any{"a": "1"}}
	warns := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "this version is deprecated"`)
		recorded(t, &body, jsonAnswer(http.StatusOK, answered))(w, r)
	}
	s := serve(t, map[string][]answer{refPath: {warns}})
	got, warnings, err := s.open().DryRunApply(t.Context(), configMap, ref, []byte(manifest), checked)
	if err != nil {
		t.Fatal(err)
	}
	want := object.Content{"metadata": map[string]any{"name": "1"}, "data": map[string]any{"a": "1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"this version is deprecated"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATCH " + refPath + "?dryRun=All&fieldManager=fleetdoctor-check&force=true"},
		s.sent()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"Content-Type": "application/apply-patch+yaml",
		"Accept": "application/json"} {
		if diff := cmp.Diff([]string{want}, s.headers[0].Values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(manifest, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestDryRunApplyOfKinds checks the path for kinds of other groups and scopes.
func TestDryRunApplyOfKinds(t *testing.T) {
	t.Parallel()
	for path, test := range map[string]struct {
		kind source.Kind
		ref  object.Ref
	}{
		"/apis/apps/v1/namespaces/x/deployments/web": {
			kind: source.Kind{GroupVersionKind: deploymentKind, Resource: "deployments", Namespaced: true},
			ref:  object.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "x", Name: "web"},
		},
		"/api/v1/namespaces/x": {
			kind: source.Kind{GroupVersionKind: namespaceKind, Resource: "namespaces"},
			ref:  object.Ref{APIVersion: "v1", Kind: "Namespace", Name: "x"},
		},
	} {
		s := serve(t, map[string][]answer{path: {jsonAnswer(http.StatusOK, map[string]any{"kind": test.ref.Kind})}})
		_, _, err := s.open().DryRunApply(t.Context(), test.kind, test.ref, []byte("{}"), checked)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDryRunApplyRefused checks that the error has the server's reason and message.
func TestDryRunApplyRefused(t *testing.T) {
	t.Parallel()
	for reason, test := range map[metav1.StatusReason]struct {
		code int
		is   func(error) bool
	}{
		metav1.StatusReasonInvalid:    {http.StatusUnprocessableEntity, apierrors.IsInvalid},
		metav1.StatusReasonForbidden:  {http.StatusForbidden, apierrors.IsForbidden},
		metav1.StatusReasonBadRequest: {http.StatusBadRequest, apierrors.IsBadRequest},
		metav1.StatusReasonNotFound:   {http.StatusNotFound, apierrors.IsNotFound},
	} {
		s := serve(t, map[string][]answer{refPath: {status(test.code, reason)}})
		_, _, err := s.open().DryRunApply(t.Context(), configMap, ref, []byte("{}"), checked)
		if want := "server message: " + string(reason); !test.is(err) || err.Error() != want {
			t.Errorf("%s: the error is %v, want %q", reason, err, want)
		}
	}
}

// TestWritesStay checks that no write follows a redirect to another server. A manifest may be a Secret.
func TestWritesStay(t *testing.T) {
	t.Parallel()
	other := serve(t, nil)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.String(), http.StatusTemporaryRedirect)
	}
	s := serve(t, map[string][]answer{refPath: times(2, redirect)})
	c := s.open()
	_, _, dryRun := c.DryRunApply(t.Context(), configMap, ref, []byte("{}"), checked)
	w := &cluster.Writer{Cluster: c, Manager: "test"}
	_, patch := w.Patch(t.Context(), ref, []byte("{}"))
	for what, err := range map[string]error{"a dry run": dryRun, "a patch": patch} {
		if _, ok := errors.AsType[*transport.RedirectError](err); !ok {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if sent := other.sent(); len(sent) > 0 {
		t.Errorf("the other server received %v", sent)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string][]answer{refPath: {
		jsonAnswer(http.StatusOK, map[string]any{"metadata": map[string]any{"name": "1"}}),
		status(http.StatusNotFound, metav1.StatusReasonNotFound)}})
	c := s.open()
	got, err := c.Get(t.Context(), configMap, ref)
	if diff := cmp.Diff(object.Content{"metadata": map[string]any{"name": "1"}}, got); diff != "" || err != nil {
		t.Errorf("%v; object (-want +got):\n%s", err, diff)
	}
	if _, err := c.Get(t.Context(), configMap, ref); !apierrors.IsNotFound(err) {
		t.Errorf("an object that does not exist: %v", err)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"GET " + refPath}, 2), s.sent()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestImpersonation checks how the rights of a ServiceAccount are asked for, and how they are used in a dry run.
func TestImpersonation(t *testing.T) {
	t.Parallel()
	const user = "system:serviceaccount:agents:deployer"
	const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	var body string
	s := serve(t, map[string][]answer{
		path:    {recorded(t, &body, jsonAnswer(http.StatusCreated, authorizationv1.SubjectAccessReview{}))},
		refPath: slices.Repeat([]answer{jsonAnswer(http.StatusOK, map[string]any{"kind": "ConfigMap"})}, 2)})
	if allowed, err := s.open().MayApply(t.Context(), configMap, "x", user); err != nil || allowed {
		t.Errorf("allowed %t, %v", allowed, err)
	}
	want := `"user":"` + user + `","groups":["system:serviceaccounts","system:serviceaccounts:agents",` +
		`"system:authenticated"]`
	if !strings.Contains(body, want) {
		t.Errorf("the review is %s, without %s", body, want)
	}
	as := source.Apply{Manager: "fleetagent", As: user}
	if _, _, err := s.open().DryRunApply(t.Context(), configMap, ref, []byte("{}"), as); err != nil {
		t.Error(err)
	}
	if got := s.headers[len(s.headers)-1].Get("Impersonate-User"); got != user {
		t.Errorf("the dry run impersonates %q", got)
	}

	// With --as, the rights of the real user are not used.
	before := len(s.sent())
	jane, err := cluster.New(&rest.Config{Host: s.URL, Impersonate: rest.ImpersonationConfig{UserName: "jane"}},
		cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = jane.DryRunApply(t.Context(), configMap, ref, []byte("{}"), as)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot impersonate") || len(s.sent()) > before {
		t.Errorf("as jane: %v, requests %q", err, s.sent()[before:])
	}
	as.As = ""
	if _, _, err := jane.DryRunApply(t.Context(), configMap, ref, []byte("{}"), as); err != nil {
		t.Error(err)
	}
	if got := s.headers[len(s.headers)-1].Get("Impersonate-User"); got != "jane" {
		t.Errorf("the dry run of jane impersonates %q", got)
	}
}

func TestMayApply(t *testing.T) {
	t.Parallel()
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := func(allowed bool) answer {
		return jsonAnswer(http.StatusCreated, authorizationv1.SelfSubjectAccessReview{
			Status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}})
	}
	var body string
	s := serve(t, map[string][]answer{path: {recorded(t, &body, review(true)), review(false), forbidden}})
	c := s.open()
	kind := source.Kind{GroupVersionKind: deploymentKind, Resource: "deployments", Namespaced: true}
	for _, want := range []bool{true, false} {
		if got, err := c.MayApply(t.Context(), kind, "x", ""); err != nil || got != want {
			t.Errorf("allowed %t: got %t, %v", want, got, err)
		}
	}
	if _, err := c.MayApply(t.Context(), kind, "x", ""); !apierrors.IsForbidden(err) {
		t.Errorf("the review is forbidden: error %v", err)
	}
	want := `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},` +
		`"spec":{"resourceAttributes":` +
		`{"namespace":"x","verb":"patch","group":"apps","version":"v1","resource":"deployments"}},` +
		`"status":{"allowed":false}}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"POST " + path}, 3), s.sent()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	c := serve(t, nil).open()
	got, err := c.KindOf(t.Context(), configMapKind)
	if diff := cmp.Diff(configMap, got); diff != "" || err != nil {
		t.Errorf("%v; kind (-want +got):\n%s", err, diff)
	}
	if _, err := c.KindOf(t.Context(), brokenGroup.WithKind("Widget")); err == nil {
		t.Error("a kind that is not served was found")
	}
}
