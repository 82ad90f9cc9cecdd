// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/journal"
)

// TestSeen checks which requests are written down, with what they did and who made them.
func TestSeen(t *testing.T) {
	owned := configMap(metadataJSON(eleven))
	stripped := configMap(`,"labels":{"app":"a"}`)
	for name, tc := range map[string]struct {
		change func(*admission.Request)
		after  []byte
		guard  string
		want   string
	}{
		"deleted":                  {want: "alice deleted it"},
		"deleted in the mode off":  {guard: "off", want: "alice deleted it"},
		"denied":                   {guard: "deny"},
		"in a dry run":             {change: func(r *admission.Request) { r.DryRun = ptr.To(true) }},
		"by the agent":             {change: func(r *admission.Request) { r.UserInfo.Username = agent }},
		"by the garbage collector": {change: func(r *admission.Request) { r.UserInfo.Username = cleaners[1] }},
		"harmless":                 {after: owned},
		"stripped": {after: stripped, want: "alice removed or changed its label objectset.rio.cattle.io/hash, " +
			"annotation objectset.rio.cattle.io/id"},
		"stripped by a field manager": {after: stripped, change: func(r *admission.Request) {
			r.Options = runtime.RawExtension{Raw: []byte(`{"fieldManager":"kubectl-label"}`)}
		}, want: "with kubectl-label"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t)
			b.GuardDefault = GuardMode(tc.guard)
			if tc.guard == "" {
				b.GuardDefault = GuardWarn
			}
			var got []string
			b.Seen = func(s journal.Seen, about corev1.ObjectReference) {
				got = append(got, s.Sentence())
				want := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "object-0",
					UID: "u-0"}
				if diff := cmp.Diff(want, about); diff != "" || s.UID != "u-0" || s.Key().Name != "object-0" {
					t.Errorf("about another object: %+v %s", s, diff)
				}
			}
			op := admissionv1.Delete
			if tc.after != nil {
				op = admissionv1.Update
			}
			req := request(op, owned, tc.after)
			if tc.change != nil {
				tc.change(&req)
			}
			Validating(b.Options).Handle(t.Context(), req)
			text := strings.Join(got, "\n")
			if len(got) > 1 || (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) {
				t.Errorf("seen %q, want %q", got, tc.want)
			}
		})
	}
}
