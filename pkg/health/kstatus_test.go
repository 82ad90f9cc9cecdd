// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// plainKinds are the kinds for which kstatus has rules, and some others.
var plainKinds = [][2]string{
	{"v1", "Service"}, {"v1", "Pod"}, {"v1", "Secret"}, {"v1", "PersistentVolumeClaim"}, {"v1", "ConfigMap"},
	{"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"}, {"apps/v1", "Deployment"}, {"apps/v1", "ReplicaSet"},
	{"extensions/v1beta1", "Deployment"}, {"policy/v1", "PodDisruptionBudget"},
	{"batch/v1", "CronJob"}, {"batch/v1", "Job"}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
	{"v1", "ServiceAccount"}, {"v1", "Namespace"}, {"rbac.authorization.k8s.io/v1", "Role"},
	{"networking.k8s.io/v1", "Ingress"}, {"x.example.com/v1", "ConfigMap"}, {"a/b/c", "X"}, {"", ""},
}

// TestPlainObjects checks that the shortcut has the result of kstatus, for every
// kind and every form of the fields that kstatus reads for all kinds.
func TestPlainObjects(t *testing.T) {
	metadata := []string{
		`{}`, `{name: a}`, `{generation: 3}`, `{generation: 1.5}`, `{generation: "3"}`, `{generation: null}`,
		`{deletionTimestamp: "2026-08-22T11:00:00Z"}`, `{deletionTimestamp: ""}`, `{deletionTimestamp: null}`, `null`,
		`text`, `[]`,
	}
	statuses := []string{
		`null`, `{}`, `text`, `[]`, `{phase: Bound}`, `{phase: Pending}`, `{phase: Running}`, `{loadBalancer: {}}`,
		`{observedGeneration: 3}`, `{observedGeneration: 2}`, `{observedGeneration: "3"}`, `{observedGeneration: null}`,
		`{conditions: null}`, `{conditions: []}`, `{conditions: text}`,
		`{conditions: [{type: Ready, status: "False"}]}`, `{conditions: [{type: Reconciling, status: "True"}]}`,
		`{replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, fullyLabeledReplicas: 1}`,
	}
	plain := 0
	for _, kind := range plainKinds {
		for _, m := range metadata {
			for _, s := range statuses {
				document := fmt.Sprintf("{apiVersion: %q, kind: %q, metadata: %s, status: %s}", kind[0], kind[1], m, s)
				obj := object(t, document)
				if isPlain(obj) {
					plain++
				}
				if diff := cmp.Diff(withoutShortcut(obj), compute(obj), cmp.AllowUnexported(computed{})); diff != "" {
					t.Errorf("%s: (-kstatus +shortcut):\n%s", document, diff)
				}
			}
		}
	}
	// With three forms of metadata and seven of status, no rule for all kinds
	// applies. With any other form, the shortcut is not used.
	if want := len(plainKinds) * 3 * 7; plain != want {
		t.Errorf("%d objects were plain, want %d", plain, want)
	}
}

// withoutShortcut is the result of kstatus itself.
func withoutShortcut(obj map[string]any) (o computed) {
	defer func() {
		if recover() != nil {
			o = computed{}
		}
	}()
	result, err := status.Compute(&unstructured.Unstructured{Object: obj})
	if err != nil {
		return computed{}
	}
	o = computed{status: result.Status, message: result.Message}
	for _, c := range result.Conditions {
		o.reason, o.detail = c.Reason, c.Message
	}
	return o
}
