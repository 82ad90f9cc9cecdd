// SPDX-License-Identifier: Apache-2.0

package probe

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
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/install"
	"github.com/fleetdoctor/kubectl-fleetdoctor/webhook/status"
)

// TestJudgeRemoval holds what a deletion tells of the guard, and what it does not.
func TestJudgeRemoval(t *testing.T) {
	t.Parallel()
	const ours, theirs = "fleetdoctor/Deleted: configmap shop/settings is owned by bundle guestbook: Fleet will report it as missing", "policy: configmap shop/settings is old"
	for name, tc := range map[string]struct {
		err      string
		warnings []string
		want     GuardAnswer
	}{
		"warned":                    {"", []string{theirs, ours}, GuardWarned},
		"denied":                    {`admission webhook "guard.fleetdoctor.io" denied the request: ` + ours, nil, GuardDenied},
		"nothing":                   {"", nil, GuardSilent},
		"somebody else warned":      {"", []string{theirs}, GuardSilent},
		"it did not answer":         {`Internal error occurred: failed calling webhook "guard.fleetdoctor.io": connection refused`, nil, GuardSilent},
		"no right":                  {`configmaps "settings" is forbidden: User "somebody" cannot delete resource "configmaps"`, nil, GuardUnknown},
		"another refused":           {`admission webhook "policy.example.com" denied the request: no`, nil, GuardUnknown},
		"another refused, and ours": {`admission webhook "policy.example.com" denied the request: no`, []string{ours}, GuardWarned},
	} {
		var err error
		if tc.err != "" {
			err = errors.New(tc.err)
		}
		if got := judgeRemoval(object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, err, tc.warnings); got.Answer != tc.want {
			t.Errorf("%s: %s, want %s", name, got.Answer, tc.want)
		}
	}
}

// TestTogether holds that works needs the stamp, and a guard that does not stay silent.
func TestTogether(t *testing.T) {
	t.Parallel()
	got := map[Verdict]map[GuardAnswer]Verdict{}
	for _, v := range []Verdict{Works, NotCalled, GuardOnly} {
		got[v] = map[GuardAnswer]Verdict{}
		for _, g := range []GuardAnswer{GuardWarned, GuardDenied, GuardSilent, GuardOff, GuardOffDefault, GuardUnknown} {
			if is := together(v, &Guard{Answer: g}); is != v {
				got[v][g] = is
			}
		}
	}
	want := map[Verdict]map[GuardAnswer]Verdict{Works: {GuardSilent: StampOnly}, NotCalled: {GuardWarned: GuardOnly, GuardDenied: GuardOnly}, GuardOnly: {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts that the guard changes (-want +got):\n%s", diff)
	}
}

// TestHeedsDryRun holds that nothing is sent to a server of which it is not known that it deletes nothing.
func TestHeedsDryRun(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("get", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		get, _ := action.(clienttesting.GetActionImpl)
		name := get.Name
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}}
		switch name {
		case "v1.custom.example.com":
		case "v1.elsewhere.example.com":
			o.Object["spec"] = map[string]any{"service": map[string]any{"name": "server"}}
		default:
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "apiservices"}, name, errors.New("no"))
		}
		return true, o, nil
	})
	tester := &Tester{Reader: status.Reader{Cluster: &install.Cluster{Dynamic: client}}}
	for version, want := range map[string]bool{"v1": true, "apps/v1": true, "custom.example.com/v1": true, "elsewhere.example.com/v1": false, "unread.example.com/v1": false} {
		if got := tester.heedsDryRun(t.Context(), object.Ref{APIVersion: version, Kind: "Kind"}); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
}
