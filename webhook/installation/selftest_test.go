// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestValidatingOf checks the answer of the validating handler for each response to a deletion.
func TestValidatingOf(t *testing.T) {
	t.Parallel()
	ours, others := Warning{"Deleted", "any text"}, Warning{Message: "policy: configmap shop/settings is old"}
	for name, tc := range map[string]struct {
		err      string
		warnings []Warning
		want     ValidatingResult
	}{
		"warned":                      {"", []Warning{others, ours}, ValidatingWarned},
		"denied":                      {`admission webhook "guard.fleetdoctor.io" denied the request: any text`, nil, ValidatingDenied},
		"no response":                 {"", nil, ValidatingNotCalled},
		"another webhook warned":      {"", []Warning{others}, ValidatingNotCalled},
		"it failed":                   {`Internal error occurred: failed calling webhook "guard.fleetdoctor.io": connection refused`, nil, ValidatingNotCalled},
		"forbidden":                   {`configmaps "settings" is forbidden: User "somebody" cannot delete resource "configmaps"`, nil, ValidatingUnknown},
		"another webhook denied":      {`admission webhook "policy.example.com" denied the request: no`, nil, ValidatingUnknown},
		"another denied, ours warned": {`admission webhook "policy.example.com" denied the request: no`, []Warning{ours}, ValidatingWarned},
	} {
		var err error
		if tc.err != "" {
			err = errors.New(tc.err)
		}
		if got := validatingOf(err, tc.warnings); got.Answer != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Answer, tc.want)
		}
	}
}

// TestRefusal checks which handler refused a request, with messages of an API server.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]MutatingAnswer{
		`admission webhook "stamp.fleetdoctor.io" denied the request: configmap shop/settings is owned by bundle guestbook`:               Denied,
		`admission webhook "guard.fleetdoctor.io" denied the request without explanation`:                                                 ValidatingAnswer,
		`admission webhook "stamp-exact.fleetdoctor.io" denied the request: configmap shop/settings is owned by bundle guestbook`:         ValidatingAnswer,
		`Internal error occurred: failed calling webhook "stamp-exact.fleetdoctor.io": failed to call webhook: context deadline exceeded`: NoAnswer,
		`admission webhook "policy.example.com" denied the request: label missing`:                                                        RefusedByOthers,
		`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: connection refused`:                RefusedByOthers,
		`configmaps "settings" is forbidden: User "somebody" cannot patch resource "configmaps" in API group "" in the namespace "shop"`:  RefusedByOthers,
	} {
		if got := refusal(errors.New(text)); got != want {
			t.Errorf("%s:\n%s, want %s", text, got, want)
		}
	}
}

// TestCombine checks the result of each pair of answers.
func TestCombine(t *testing.T) {
	t.Parallel()
	got := map[MutatingAnswer]map[ValidatingResult]Result{}
	for _, m := range []MutatingAnswer{Restored, Denied, Warned, ValidatingAnswer, Passed, NoAnswer, RefusedByOthers} {
		got[m] = map[ValidatingResult]Result{"": resultOf[m]}
		for _, v := range []ValidatingResult{ValidatingWarned, ValidatingDenied, ValidatingNotCalled, OffForNamespace, OffByDefault, ValidatingUnknown} {
			if result := combine(resultOf[m], v); result != resultOf[m] {
				got[m][v] = result
			}
		}
	}
	works := map[ValidatingResult]Result{"": Works, ValidatingNotCalled: MutatingOnly}
	notCalled := map[ValidatingResult]Result{"": NotCalled, ValidatingWarned: ValidatingOnly, ValidatingDenied: ValidatingOnly}
	want := map[MutatingAnswer]map[ValidatingResult]Result{Restored: works, Denied: works, Warned: works, Passed: notCalled, NoAnswer: notCalled,
		ValidatingAnswer: {"": ValidatingOnly}, RefusedByOthers: {"": ResultUnknown}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results, and those that the second answer changes (-want +got):\n%s", diff)
	}
}

// TestParseWarning checks that a warning of this webhook has a code, and that other warnings have none.
func TestParseWarning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Warning{
		"fleetdoctor/Restored: any text: of any form": {"Restored", "any text: of any form"},
		"fleetdoctor/Restored":                        {Message: "fleetdoctor/Restored"},
		"fleetdoctor/: text":                          {Message: "fleetdoctor/: text"},
		"fleetdoctor/Two words: text":                 {Message: "fleetdoctor/Two words: text"},
		"policy: fleetdoctor/Restored: text":          {Message: "policy: fleetdoctor/Restored: text"},
	} {
		if diff := cmp.Diff(want, parseWarning(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestWarned checks which handler each code is from.
func TestWarned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		warnings             []Warning
		mutating, validating bool
	}{
		"none":                      {},
		"of another webhook":        {warnings: []Warning{{Message: "any text"}}},
		"of the mutating handler":   {warnings: []Warning{{Code: "Contested"}}, mutating: true},
		"of a forged record":        {warnings: []Warning{{Code: "Unconfirmed"}}, mutating: true},
		"of the validating handler": {warnings: []Warning{{Code: "Deleted"}}, validating: true},
		"of both handlers":          {warnings: []Warning{{Code: "Stripped"}, {Code: "Restored"}}, mutating: true, validating: true},
	} {
		if mutating, validating := warned(tc.warnings); mutating != tc.mutating || validating != tc.validating {
			t.Errorf("%s: mutating %t, validating %t", name, mutating, validating)
		}
	}
}

// TestSupportsDryRun checks that no deletion is sent to an API server that may ignore the dry run.
func TestSupportsDryRun(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("get", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get, _ := action.(clienttesting.GetActionImpl)
		name := get.Name
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}}
		switch name {
		case "v1.custom.example.com":
		case "v1.aggregated.example.com":
			o.Object["spec"] = map[string]any{"service": map[string]any{"name": "server"}}
		default:
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "apiservices"}, name, errors.New("forbidden"))
		}
		return true, o, nil
	})
	tester := &Tester{Cluster: &Cluster{Dynamic: client}}
	for version, want := range map[string]bool{"v1": true, "apps/v1": true, "custom.example.com/v1": true, "aggregated.example.com/v1": false, "unread.example.com/v1": false} {
		if got := tester.supportsDryRun(t.Context(), object.Ref{APIVersion: version, Kind: "Kind"}); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
}
